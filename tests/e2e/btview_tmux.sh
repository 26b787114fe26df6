#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# btview in a terminal: keys go in through tmux, screens come out and are compared with screens/NAME.txt. The trace is
# made by make_trace, the same every time. SCREENS_UPDATE=1 writes the expected screens instead: read their diff.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
command -v tmux >"$work/where" || skip "tmux is missing"
screens=$BTREC_SRCDIR/tests/e2e/screens
make_trace=$BTREC_BUILDDIR/tests/e2e/make_trace
socket=btrec-$$
updated=
export TMUX_TMPDIR=$work LC_ALL=C.UTF-8
unset TMUX NO_COLOR

tm() { tmux -u -L "$socket" -f /dev/null "$@"; }
cleanup() { tm kill-server 2>"$work/killed"; }
keys() { tm send-keys -t viewer "$@"; }
# Paths of the folder that the test runs in, which has another name each time, are as long as that.
capture() { tm capture-pane -p -t viewer "$@" | sed "s|$work|${work//[!\/]/W}|g"; }
resize() { tm resize-window -t viewer -x "$1" -y "$2"; }

# until_true COMMAND...: polls for at most 20 seconds (sanitizers, a busy machine).
until_true() {
	local i
	for ((i = 0; i < ${POLLS:-400}; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	return 1
}

shows() { capture >"$work/screen" && grep -Fq -e "$1" "$work/screen"; }
is_screen() { capture >"$work/screen" && cmp -s "$work/screen" "$screens/$1.txt"; }
is_still() {
	capture >"$work/before"
	sleep 0.4
	capture >"$work/screen"
	cmp -s "$work/before" "$work/screen"
}

# wait_for TEXT: the text appears on the screen.
wait_for() {
	if until_true shows "$1"; then
		echo "ok: the screen has: $1"
	else
		fail "the screen lacks: $1"
		sed 's/^/  | /' "$work/screen"
	fi
}

# screen NAME: the screen becomes the expected one.
screen() {
	if [ -n "${SCREENS_UPDATE-}" ] && [[ " $updated " != *" $1 "* ]]; then
		updated="$updated $1"
		until_true is_still
		cp "$work/screen" "$screens/$1.txt"
	elif until_true is_screen "$1"; then
		echo "ok: screen $1"
	else
		fail "screen $1 (- expected, + seen)"
		diff -u "$screens/$1.txt" "$work/screen"
	fi
}

# prompt: the shell has done what was typed last and waits. Its prompt counts the commands.
command_number=0
at_prompt() {
	[[ $(capture | grep -v '^$' | tail -1) =~ ^shell\ ([0-9]+)\>$ ]] && [ "${BASH_REMATCH[1]}" -gt "$command_number" ]
}
prompt() { until_true at_prompt || fail "no shell prompt: $(capture)"; }

# type_line TEXT: at the prompt, without looking at what comes of it.
type_line() {
	prompt
	command_number=${BASH_REMATCH[1]}
	keys -l "$1"
	keys Enter
}

# run COMMAND-LINE on an empty screen.
run() { type_line "clear; $1"; }

sample() {
	cp "$BTREC_SRCDIR/tests/e2e/screen_sample.S" "$work" &&
		(cd "$work" && $CC -g -nostdlib -static -no-pie -Wl,-Ttext=0x401000 -Wl,--build-id=none -o sample screen_sample.S)
}
sample || { echo "cannot assemble the sample"; exit 99; }
touch -d 2020-01-01 "$work/screen_sample.S" # before the recording, which is of 2023
"$make_trace" "$work/trace" "$work/sample" 36 --fast input || exit 99
cd "$work" || exit 99
tm new-session -d -s viewer -x 100 -y 30 "env TERM=screen PS1='shell \\#> ' PROMPT_COMMAND= bash --norc --noprofile -i" || exit 99
tm set -g status off
resize 100 30
type_line "stty -a >$work/stty.before"

echo "== views"
run "$BTVIEW trace"
screen summary
keys b
screen branches
keys g j j j
screen branches-top
keys o
screen branches-target
keys o r
screen registers
keys j j j j
screen registers-pointer
keys t
screen threads
keys j
screen threads-frame
keys Down Down Down Enter
screen other-history
keys s g
screen summary-other
keys G Up Enter
screen handled-signal
keys s G Enter
screen branches

echo "== moving in the branch list"
keys k k k k k '%'
screen match
keys "'" "'" k u
screen caller
keys u u
wait_for 'its call is not in the history'
keys G k '%'
wait_for 'no call or return'
keys f
screen unfolded
keys m a g
screen unfolded-top
keys C-f C-f C-d C-u C-b PgDn
screen unfolded-paged
keys "'" a
screen unfolded-mark
keys f
screen folded-again
keys g "'" a f f
screen folded-again # the mark stays with its branch
keys Right Right
screen sideways
keys Left Left

echo "== search"
keys g / 'HANDLER' Enter
wait_for 'not found'
keys / 'handler|lookup' Enter
screen search
keys n
screen search-next
keys N
screen search-previous
keys '?' 'jcc.*setup' Enter
screen search-up
keys n
wait_for 'from the end'
keys / '(' Enter
wait_for 'no regular expression'
keys / 'abc' Escape
wait_for 'h help'
keys / 'x' BSpace BSpace
wait_for 'h help'

echo "== panes"
keys G Tab
screen source-focus
keys G
screen source-last
keys Tab k
screen disassembly-focus
keys q
screen list-focus
keys c
screen no-code
keys Enter
screen list-to-code
keys BTab BTab
screen list-focus

echo "== marks and unknown keys"
keys "'" z
wait_for 'no such mark'
keys m 5
wait_for 'the letters a to z'
keys F9
wait_for 'does nothing here'
keys j 'C-\'
wait_for 'does nothing here'

echo "== resizing keeps the cursor"
keys g j j j
screen branches-top
resize 40 10
screen small
resize 100 30
screen resized
resize 40 10
screen small
keys c
screen small-code
keys Tab
screen small-disassembly
keys q t
screen small-threads
keys q
resize 20 5
screen tiny
for size in '3 2' '1 1' '200 3' '5 60'; do
	# shellcheck disable=SC2086
	resize $size
	keys s t b r j k Tab Tab C-l q q q
done
resize 100 30
keys b
wait_for '[disassembly]' # tmux resizes when it finds the time
keys g j j j
screen branches-top

echo "== help"
keys h
screen help
: >"$work/help"
for _ in 1 2 3; do
	until_true is_still
	cat "$work/screen" >>"$work/help"
	keys C-f
done
sed -n 's/^BT_KEY([A-Z_]*, *[A-Z_() |]*, *"\([^"]*\)", *"\([^"]*\)").*/\1\t\2/p' "$BTREC_SRCDIR/tui/keys.def" >"$work/keys"
expect "keys.def was read" test "$(wc -l <"$work/keys")" -eq "$(grep -c '^BT_KEY(' "$BTREC_SRCDIR/tui/keys.def")"
while IFS=$'\t' read -r names help; do
	grep -F -e "$names" "$work/help" | grep -Fq -e "$help" || fail "help lacks: $names  $help"
done <"$work/keys"

echo "== suspending"
keys C-z
wait_for 'Stopped'
type_line fg
wait_for '[help]'

echo "== quitting"
keys q
screen branches-top
keys Q
type_line 'echo status $?'
wait_for 'status 0'
prompt
expect "no alternate screen, cursor and keypad as before" test "$(tm display -p -t viewer '#{alternate_on}#{cursor_flag}#{keypad_flag}#{keypad_cursor_flag}')" = 0100
run "stty -a >$work/stty.after"
prompt
expect "the terminal's settings are as before" diff "$work/stty.before" "$work/stty.after"
run "$BTVIEW trace"
wait_for '[summary]'
keys C-c
wait_for 'nothing runs'
keys Q
prompt
expect "no alternate screen after ^C" test "$(tm display -p -t viewer '#{alternate_on}#{cursor_flag}')" = 01
run "stty -a >$work/stty.after"
prompt
expect "the terminal's settings are as before ^C" diff "$work/stty.before" "$work/stty.after"
for signal in HUP QUIT TERM; do
	run "(ulimit -c 0; echo \$BASHPID >viewer.pid; exec $BTVIEW trace); echo $signal: \$?"
	wait_for '[summary]'
	kill -s "$signal" "$(cat viewer.pid)"
	wait_for "$signal: $((128 + $(kill -l "$signal")))"
	expect "no alternate screen after SIG$signal" test "$(tm display -p -t viewer '#{alternate_on}#{cursor_flag}')" = 01
	run "stty -a >$work/stty.after"
	prompt
	expect "the terminal's settings are as before SIG$signal" diff "$work/stty.before" "$work/stty.after"
done

echo "== colour"
coloured() { capture -e | grep -Eq $'\e\\[([0-9;]*;)?[34][0-7]'; }
run "$BTVIEW trace"
wait_for '[summary]'
expect "a terminal with colours has colours" coloured
keys Q
run "NO_COLOR=1 $BTVIEW trace"
screen summary
coloured && fail "colours in spite of NO_COLOR"
keys b
screen branches
keys Q
run "TERM=vt100 $BTVIEW trace"
screen summary
coloured && fail "colours on a monochrome terminal"
keys Q

echo "== a history that the code contradicts"
SCRIBBLE=1300 "$make_trace" "$work/scribbled" "$work/sample" 36 --fast input || exit 99
run "$BTVIEW scribbled"
wait_for '[summary]'
keys G
wait_for "do not rely on branches from entry 1300"
keys q
expect_status 0 "$BTVIEW" --stdio scribbled
expect_text "$work/out" "Inconsistent: do not rely on branches from entry 1300, tick [0-9]+, on \(.* at 0x[0-9a-f]+\): the code does not lead to it"
expect_status 0 "$BTVIEW" --json scribbled
expect_text "$work/out" '"verdict": \{"state":"inconsistent","from":100,"checked":99\}'
expect_status 0 "$BTVIEW" --json -n 10 scribbled
expect_text "$work/out" '"verdict": \{"state":"inconsistent","from":0,'
expect_status 0 "$BTVIEW" --json trace
expect_text "$work/out" '"verdict": \{"state":"consistent","from":null,"checked":[1-9]'

echo "== a stack that the history knows better"
STACK=gone "$make_trace" "$work/cut" "$work/sample" 36 || exit 99
run "$BTVIEW cut"
wait_for '[summary]'
keys t
screen threads-cut
keys j j f # what was found once is shown again
wait_for ' 1/5'
keys f j j j
screen threads-cut-caller
keys Q
STACK=wrong "$make_trace" "$work/wrong" "$work/sample" 36 || exit 99
run "$BTVIEW wrong"
wait_for '[summary]'
keys t
screen threads-wrong
keys Q

echo "== begins where it is asked to"
run "$BTVIEW --thread 2 trace"
screen other-history
keys q q
run "$BTVIEW --function handler trace"
wait_for "[branches] of task 1"
wait_for "handler"
capture >"$work/screen"
expect "the search is for the function" grep -q handler "$work/screen"
keys n
wait_for "handler"
keys q q
run "$BTVIEW --function nosuchfunction trace; echo of a function: \$?"
wait_for "of a function: 1"
wait_for "btview: no function nosuchfunction in this history"
run "$BTVIEW --thread 77 trace; echo of a thread: \$?"
wait_for "of a thread: 1"
wait_for "btview: no task or thread 77: the trace has"

echo "== a search sees all of a name that is cut"
objcopy --redefine-sym lookup=lookup_by_a_name_that_no_column_has_room_for sample long
"$make_trace" long-trace "$work/long" 36 || exit 99
resize 60 20
run "$BTVIEW long-trace"
wait_for '[summary]'
keys b g / 'no_column_has' Enter
wait_for ' 35/37'
wait_for 'lookup_by_a_name~:'
keys Q
run "$BTVIEW --function lookup_by_a_name_that_no_column_has_room_for long-trace"
wait_for ' 36/37'
keys n
wait_for ' 35/37'
keys Q
objcopy --redefine-sym lookup=_ZN4shop6vectorIiSaIiEE9push_backERKi sample brief
"$make_trace" brief-trace "$work/brief" 36 || exit 99
run "$BTVIEW brief-trace"
wait_for '[summary]'
keys b g / 'vector<...>::push' Enter # of the name as it is shown, where there is room
wait_for ' 35/37'
keys g / 'allocator<int>' Enter # of the rest
wait_for ' 35/37'
keys Q
resize 100 30

echo "== a long search is stopped"
cp -p screen_sample.S short_source
yes '' | head -12000000 >>screen_sample.S
touch -d 2020-01-01 screen_sample.S
run "$BTVIEW trace"
wait_for '[summary]'
keys b Tab g / 'zzzz' Enter
wait_for 'searching: '
keys C-c # at once it would take from the terminal what was typed before
wait_for 'the search was stopped'
keys / 'zzzz' Enter j Escape # another key waits in front of the one that stops it, and is read behind it
wait_for ' 2/12000087'
keys Q
cp -p short_source screen_sample.S

echo "== a source that was edited since"
touch "$work/screen_sample.S"
run "$BTVIEW trace"
wait_for 'screen_sample.S, edited since?'
keys G
wait_for 'screen_sample.S: newer than the program'
keys Q
touch -d 2020-01-01 "$work/screen_sample.S"

echo "== terminals that are none"
for type in no-such-terminal dumb; do
	run "TERM=$type $BTVIEW trace; echo $type ended with \$?"
	wait_for "$type ended with 0" # not what the one before left on the screen
	expect "a terminal of type $type gets text" shows 'fatal signal, SIGSEGV'
done

echo "== hostile names"
bell=$'\a' esc=$'\e'
evil="$work/${esc}[31mevil${esc}]2;owned${bell}"$'\n\x9b5m\u202e'
cp sample "$evil"
objcopy --redefine-sym "visit=vi${esc}]2;owned${bell}sit" "$evil" || echo "objcopy cannot rename; symbols are not tried"
"$make_trace" hostile "$evil" 36 "${esc}]2;owned${bell}" "${esc}c" || exit 99
tm pipe-pane -t viewer -o "cat >$work/raw"
run "$BTVIEW hostile"
wait_for '\x1b]2;owned\x07'
keys b
wait_for '[branches]'
keys g / 'owned' Enter
screen hostile
keys t
wait_for '[threads]'
keys r
wait_for '[registers]'
keys Q
prompt
tm pipe-pane -t viewer
expect "the viewer's output was kept" test -s raw
grep -q "owned$bell" raw && fail "a name's bell went through"
grep -Fq "${esc}]2;" raw && fail "a name's escape sequence went through"
expect "the title was left alone" test "$(tm display -p -t viewer '#{pane_title}')" != owned

echo "== text beyond ASCII"
"$make_trace" beyond "$work/sample" 36 'grüße 漢字' || exit 99
run "$BTVIEW beyond"
wait_for '[summary]'
keys g
wait_for 'grüße 漢字'
keys Q
run "LC_ALL=C $BTVIEW beyond"
wait_for '[summary]'
keys g
wait_for 'gr\xc3\xbc\xc3\x9fe \xe6'
keys Q

echo "== damaged traces"
# Without the first block of events, which is the header's, there is no trace.
header_end=$((40 + 32 + $(od -An -tu4 -j48 -N4 trace/events)))
for file in branches-1 branches-2 events objects; do
	for damage in gone cut; do
		rm -rf damaged
		cp -r trace damaged
		length=60
		[ $file = events ] && length=$((header_end + 20))
		if [ $damage = gone ]; then rm "damaged/$file"; else truncate -s $length "damaged/$file"; fi
		if [ $file$damage = eventsgone ]; then
			run "$BTVIEW damaged; echo without events: \$?" # the last one's status may still be on the screen
			wait_for 'without events: 76'
			continue
		fi
		run "$BTVIEW damaged; echo status \$?"
		wait_for '[summary]'
		keys G b g o f G k k u '%' Enter Tab q t j f Enter r G s G Enter / x Enter Q
		prompt
		expect "an ordinary end although $file is $damage" grep -Eq '^status (0|76)$' <(capture)
	done
done

echo "== nothing to see"
run "$BTVIEW no-such-trace; echo status \$?"
wait_for 'status 66'
finish
