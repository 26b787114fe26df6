// SPDX-License-Identifier: MIT
// A callback that was never set.
#include <cstdio>
#include <functional>
#include <string>

class Button {
public:
	explicit Button(std::string label) : label_(std::move(label)) {}
	void on_click(std::function<void(const std::string &)> action) { action_ = std::move(action); }
	void click() const
	{
		action_(label_); // HERE
	}

private:
	std::string label_;
	std::function<void(const std::string &)> action_;
};

int main()
{
	Button good("ok"), forgotten("cancel");
	good.on_click([](const std::string &label) { std::printf("%s\n", label.c_str()); });
	good.click();
	forgotten.click();
	return 0;
}
