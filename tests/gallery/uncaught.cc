// SPDX-License-Identifier: MIT
// An exception that nobody catches.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace shop {

class NoSuchArticle : public std::runtime_error {
public:
	explicit NoSuchArticle(const std::string &name) : std::runtime_error("no such article: " + name) {}
};

class Stock {
public:
	void add(const std::string &name, int price) { prices_[name] = price; }

	int price(const std::string &name) const
	{
		auto found = prices_.find(name);
		if (found == prices_.end())
			throw NoSuchArticle(name); // HERE
		return found->second;
	}

private:
	std::map<std::string, int> prices_;
};

int total(const Stock &stock, std::initializer_list<const char *> names)
{
	int sum = 0;
	for (const char *name : names)
		sum += stock.price(name);
	return sum;
}

} // namespace shop

int main()
{
	auto stock = std::make_unique<shop::Stock>();
	stock->add("tea", 3);
	stock->add("milk", 1);
	std::printf("%d\n", shop::total(*stock, {"tea", "milk"}));
	std::printf("%d\n", shop::total(*stock, {"tea", "honey"}));
	return 0;
}
