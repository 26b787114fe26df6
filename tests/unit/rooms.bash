# SPDX-License-Identifier: MIT
# The rooms of the house, and from which others each may take: sourced by the tests of includes and of links.
# A room is a folder; what is in its folders is theirs.
process="lib syscalls collector/tracee"
space="$process collector/space"
history="$space collector/history"
task="$space $history collector/task"
backend="$task collector/backend"
step="$backend collector/backend/step"
decode="lib collector/backend/engine/decode"
cache="$backend $decode collector/backend/engine/cache"
translate="$cache collector/backend/engine/translate"
persist="$translate collector/backend/engine/persist"
changes="$cache collector/backend/engine/changes"
engine="$persist $changes $step collector/backend/engine"
pmu="$step hardware collector/backend/pmu"
supervisor="$backend include collector/supervisor"
record="$supervisor format collector/record"
recording="$record $engine $pmu"
doctor="$engine $pmu collector/doctor"
reading="lib syscalls format decoder"
declare -A rooms=(
	[lib]="lib include"
	[syscalls]="lib syscalls"
	[format]="lib format"
	[hardware]="lib hardware"
	[import]="lib format hardware import"
	[decoder]=$reading
	[tui]="$reading tui"
	[collector/tracee]=$process
	[collector/space]=$space
	[collector/history]=$history
	[collector/task]=$task
	[collector/backend]=$backend
	[collector/backend/step]=$step
	[collector/backend/engine/decode]=$decode
	[collector/backend/engine/cache]=$cache
	[collector/backend/engine/translate]=$translate
	[collector/backend/engine/persist]=$persist
	[collector/backend/engine/changes]=$changes
	[collector/backend/engine]=$engine
	[collector/backend/pmu]=$pmu
	[collector/doctor]=$doctor
	[collector/supervisor]=$supervisor
	[collector/record]=$record
	[commands]="$recording $doctor $reading import commands"
)
