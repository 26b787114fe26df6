// SPDX-License-Identifier: MIT
// A sum of money that does not fit, under UndefinedBehaviorSanitizer, which ends the program.
#include <stdio.h>

struct order {
	int pieces, cents;
};

static int order_total(const struct order *order)
{
	return order->pieces * order->cents; // HERE
}

static void bill(const struct order *orders, int count)
{
	for (int i = 0; i < count; i++)
		printf("%d\n", order_total(&orders[i]));
}

int main(void)
{
	const struct order orders[] = { { 3, 250 }, { 70000, 99999 } };

	bill(orders, 2);
	return 0;
}
