// SPDX-License-Identifier: MIT
// A virtual function of an object that was deleted, and whose memory is used for something else.
#include <cstdio>
#include <cstring>
#include <vector>

class Listener {
public:
	virtual ~Listener() = default;
	virtual void hear(int what) { last_ = what; }

protected:
	long last_ = 0, more_[4] = {};
};

static std::vector<Listener *> listeners;

static void publish(int what)
{
	for (Listener *listener : listeners)
		listener->hear(what); // HERE
}

int main()
{
	auto *one = new Listener;
	listeners.push_back(one);
	publish(1);
	delete one;
	char *text = new char[sizeof(Listener)];
	std::memset(text, 'z', sizeof(Listener));
	publish(2);
	delete[] text;
	return 0;
}
