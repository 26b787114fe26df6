/* SPDX-License-Identifier: MIT */
/* The program that quickstart records. A customer is freed when he closes his account, but the cart still points to
 * him. The memory becomes a line of the cart, and some calls later, at the checkout, that line is taken for a
 * customer: his "account" is a price. The crash is in account_charge; its cause is in customer_close. */
#include <stdio.h>
#include <stdlib.h>

struct account {
	long number, balance;
};

struct customer {
	const char *name;
	struct account *account;
};

struct line {
	const char *article;
	long price; /* in cents */
};

struct cart {
	struct customer *owner;
	struct line *lines[8];
	int count;
};

struct customer *customer_new(const char *name, long balance)
{
	struct customer *c = malloc(sizeof *c);

	c->name = name;
	c->account = malloc(sizeof *c->account);
	c->account->number = 4711;
	c->account->balance = balance;
	return c;
}

void customer_close(struct customer *c)
{
	printf("%s closes the account\n", c->name);
	fflush(stdout);
	free(c->account);
	free(c);
}

void cart_add(struct cart *cart, const char *article, long price)
{
	struct line *l = malloc(sizeof *l);

	l->article = article;
	l->price = price;
	cart->lines[cart->count++] = l;
}

long cart_total(const struct cart *cart)
{
	long total = 0;

	for (int i = 0; i < cart->count; i++)
		total += cart->lines[i]->price;
	return total;
}

void account_charge(struct account *a, long cents)
{
	if (a->balance >= cents)
		a->balance -= cents;
}

void checkout(struct cart *cart)
{
	long total = cart_total(cart);

	account_charge(cart->owner->account, total);
	printf("%d articles, %ld.%02ld\n", cart->count, total / 100, total % 100);
}

int main(int argc, char **argv)
{
	struct cart cart = {.owner = customer_new(argc > 1 ? argv[1] : "Ada", 5000)};

	cart_add(&cart, "pencil", 150);
	customer_close(cart.owner);
	cart_add(&cart, "lamp", 1999);
	cart_add(&cart, "paper", 420);
	checkout(&cart);
	return 0;
}
