#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# corpus_elf.sh DIRECTORY: writes small ELF files with debug information of many kinds, made now by the compilers that are there, for fuzz_elf.c.
set -u
dir=${1:?usage: corpus_elf.sh DIRECTORY}
here=$(dirname "$0")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# made NAME COMPILER FLAGS...: compiled as a library, which needs no other. What a compiler does not know is left out.
made() {
	local name=$1 compiler=$2
	shift 2
	(cd "$scratch" && "$compiler" -shared -nostdlib -fPIC -fno-stack-protector -Wl,--build-id "$@" -o "$dir/$name") 2>/dev/null || rm -f "$dir/$name"
}

dir=$(realpath "$dir") here=$(realpath "$here")
c=$here/elf_sample.c
made plain "${CC:-cc}" -O2 -g "$c"
[ -e "$dir/plain" ] || { echo "corpus_elf.sh: ${CC:-cc} makes no library" >&2 && exit 1; }
made no-optimization "${CC:-cc}" -O0 -g "$c"
made dwarf-2 "${CC:-cc}" -O1 -gdwarf-2 -gstrict-dwarf "$c"
made dwarf-4 "${CC:-cc}" -O2 -gdwarf-4 "$c"
made dwarf-5 "${CC:-cc}" -O3 -gdwarf-5 "$c"
made type-units "${CC:-cc}" -O1 -g -fdebug-types-section "$c"
made split "${CC:-cc}" -O2 -gsplit-dwarf "$c"
made packed "${CC:-cc}" -O2 -g -gz=zlib "$c"
made debug-frame "${CC:-cc}" -O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables "$c"
(cd "$scratch" && "${CC:-cc}" -O2 -g -static -nostdlib -no-pie -fno-stack-protector -Wl,-e,entry "$c" -o "$dir/program") 2>/dev/null || rm -f "$dir/program"
made plus-plus "${CXX:-c++}" -O2 -g -fno-exceptions "$here/elf_sample.cc"
made plus-plus-4 "${CXX:-c++}" -O1 -gdwarf-4 "$here/elf_sample.cc"
made fortran gfortran -O1 -g "$here/elf_sample.f90"
if command -v objcopy >/dev/null; then
	objcopy --compress-debug-sections=zlib-gnu "$dir/plain" "$dir/packed-gnu" 2>/dev/null
	objcopy -R .debug_aranges "$dir/plain" "$dir/no-aranges"
	objcopy -R .eh_frame_hdr "$dir/plain" "$dir/no-frame-header"
	strip -o "$dir/stripped" "$dir/plain"
	if command -v xz >/dev/null; then
		objcopy --only-keep-debug -R '.debug*' "$dir/plain" "$scratch/symbols" && xz -k "$scratch/symbols" &&
			objcopy --add-section .gnu_debugdata="$scratch/symbols.xz" "$dir/stripped" "$dir/symbols-packed"
	fi
fi
rm -f "$dir"/*.dwo
exit 0
