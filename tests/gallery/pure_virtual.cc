// SPDX-License-Identifier: MIT
// A constructor of the base calls what only the derived class has.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

class Shape {
public:
	Shape() { describe(); }
	virtual ~Shape() = default;
	virtual double area() const = 0;

	void describe()
	{
		text_ = "area " + std::to_string(area()); // HERE
	}
	const std::string &text() const { return text_; }

private:
	std::string text_;
};

class Square : public Shape {
public:
	explicit Square(double side) : side_(side) {}
	double area() const override { return side_ * side_; }

private:
	double side_;
};

int main()
{
	std::vector<std::unique_ptr<Shape>> shapes;
	shapes.push_back(std::make_unique<Square>(2));
	for (const auto &shape : shapes)
		std::puts(shape->text().c_str());
	return 0;
}
