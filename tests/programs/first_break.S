/* SPDX-License-Identifier: MIT */
/* Moves the end of its heap without having asked for it: where addresses are not random (personality(2),
 * ADDR_NO_RANDOMIZE), the heap begins behind the program. Ends with 3 where they are. */
.globl _start

.bss
.balign 4096
.skip 4096

.text
_start:
	mov $12, %eax /* brk */
	mov $_end, %edi
	add $0x20000, %rdi
	mov %rdi, %r12
	syscall
	cmp %rax, %r12
	jne 1f
	movw $0xa68, -16(%r12) /* "h\n" */
	mov $1, %eax /* write */
	mov $1, %edi
	lea -16(%r12), %rsi
	mov $2, %edx
	syscall
	xor %edi, %edi
	jmp 2f
1:	mov $3, %edi
2:	mov $231, %eax /* exit_group */
	syscall
