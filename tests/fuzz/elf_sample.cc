// SPDX-License-Identifier: MIT
// The same of C++: names in scopes, templates, what is inlined.
namespace shop
{
template <class T, int N> struct list {
	T items[N];
	int used = 0;
	struct place {
		list *of;
		int at;
	};
	T &add(const T &item)
	{
		items[used % N] = item;
		return items[used++ % N];
	}
	virtual int total() const { return used; }
	virtual ~list() = default;
};
namespace
{
struct item {
	int price;
	long &count;
	bool operator<(const item &other) const { return price < other.price; }
};
}
template <class F> inline int each(const list<int, 4> &l, F &&f)
{
	int sum = 0;
	for (int i : l.items)
		sum += f(i);
	return sum;
}
class till : public list<int, 4>
{
	long count = 0;

public:
	int total() const override;
	__attribute__((noinline)) int sell(int price, item other);
};
int till::total() const
{
	return each(*this, [this](int i) { return i * used; });
}
int till::sell(int price, item other)
{
	struct local {
		static int twice(int x) { return 2 * x; }
	};
	item here{price, count};
	add(here < other ? local::twice(price) : price);
	place p{this, price};
	count += p.at;
	return total();
}
}
void operator delete(void *, unsigned long) {}
extern "C" int entry(int argc)
{
	shop::till t;
	long n = 0;
	return t.sell(argc, {argc, n}) + t.sell(2, {3, n});
}
