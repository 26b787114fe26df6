// SPDX-License-Identifier: MIT
// A destructor throws, and destructors must not.
#include <cstdio>
#include <memory>
#include <stdexcept>

class File {
public:
	explicit File(bool full) : full_(full) {}
	~File() { flush(); }

	void flush()
	{
		if (full_)
			throw std::runtime_error("disk full"); // HERE
	}

private:
	bool full_;
};

static int save(bool full)
{
	auto file = std::make_unique<File>(full);
	return 1;
}

int main()
{
	int saved = save(false);
	try {
		saved += save(true);
	} catch (const std::exception &error) {
		std::printf("not saved: %s\n", error.what());
	}
	std::printf("%d\n", saved);
	return 0;
}
