// SPDX-License-Identifier: MIT
// One past the end, with at().
#include <cstdio>
#include <string>
#include <vector>

struct Row {
	std::vector<std::string> cells;
};

static Row split(const std::string &line)
{
	Row row;
	std::string::size_type from = 0, comma;
	while ((comma = line.find(',', from)) != std::string::npos) {
		row.cells.push_back(line.substr(from, comma - from));
		from = comma + 1;
	}
	row.cells.push_back(line.substr(from));
	return row;
}

static const std::string &column(const Row &row, std::size_t number)
{
	return row.cells.at(number); // HERE
}

int main()
{
	for (const char *line : {"1,one,eins", "2,two"}) {
		const Row row = split(line);
		std::printf("%s\n", column(row, 2).c_str());
	}
	return 0;
}
