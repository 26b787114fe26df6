# SPDX-License-Identifier: MIT
# Runs inside gdb: steps the program through and prints every instruction executed: address length mnemonic indirect.
# gdb's own disassembler says what each instruction is, so that nothing of btrec's is in the account.
import os
import re

import gdb

gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set disable-randomization on")
gdb.execute("starti", to_string=True)

known = {}
lines = []


def look(frame, pc):
    if pc not in known:
        insn = frame.architecture().disassemble(pc)[0]
        words = re.sub(r"^((rep|repz|repnz|repe|repne|bnd|notrack|data16|lock) )+", "", insn["asm"]).split(None, 1)
        indirect = len(words) > 1 and words[1].startswith("*")
        known[pc] = "%x %d %s %d" % (pc, insn["length"], words[0], indirect)
    return known[pc]


while gdb.selected_inferior().pid:
    frame = gdb.newest_frame()
    lines.append(look(frame, frame.pc()))
    gdb.execute("stepi", to_string=True)

with open(os.environ["GDB_TRACE_OUT"], "w") as out:
    out.write("\n".join(lines) + "\n")
