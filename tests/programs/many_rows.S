/* SPDX-License-Identifier: MIT */
/* Reads address 0. Its line program is a few bytes for each row, and has so many rows that libdw takes hundreds of MB for them.
 * DWARF 4, 7.5.3 (abbreviations), 6.2.4 (the header of a line program), 6.2.5 (its opcodes). */
	.equ ROWS, 4000000
	.text
	.globl _start
_start:
	xor %eax, %eax
	mov (%rax), %ecx
	hlt
.Lend_of_code:

	.section .debug_abbrev, "", @progbits
	.uleb128 1		/* of number 1: a compile unit, without children */
	.uleb128 0x11
	.byte 0
	.uleb128 0x10, 0x17	/* stmt_list, sec_offset */
	.uleb128 0x11, 0x01	/* low_pc, addr */
	.uleb128 0x12, 0x07	/* high_pc, data8 */
	.uleb128 0, 0
	.uleb128 0

	.section .debug_info, "", @progbits
	.long .Lend_of_unit - .Lunit
.Lunit:
	.short 4
	.long .debug_abbrev
	.byte 8
	.uleb128 1
	.long .debug_line
	.quad _start
	.quad .Lend_of_code - _start
.Lend_of_unit:

	.section .debug_line, "", @progbits
	.long .Lend_of_rows - .Lrows
.Lrows:
	.short 4
	.long .Lprogram - .Lheader
.Lheader:
	.byte 1, 1, 1, -5, 14, 13
	.byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
	.byte 0			/* no directories */
	.asciz "many_rows.c"
	.byte 0, 0, 0
	.byte 0			/* no more files */
.Lprogram:
	.byte 0, 9, 2		/* set_address */
	.quad _start
	.fill ROWS, 1, 1	/* copy: a row */
	.byte 2, 5		/* advance_pc */
	.byte 0, 1, 1		/* end_sequence */
.Lend_of_rows:
	.section .note.GNU-stack, "", @progbits
