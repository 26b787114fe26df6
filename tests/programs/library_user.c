// SPDX-License-Identifier: MIT
void ledger_add(long amount);

int main(void)
{
	ledger_add(12);
	return 0;
}
