#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The compiler has vectorised the reductions: the loops of each variant use registers of its width, and no fused operation.
# Builds with sanitizers or for coverage are not checked.
set -u
. "$(dirname "$0")/../lib.sh"
case $(uname -m) in
x86_64) ;;
*) skip "kernels this is no x86-64"; finish ;;
esac
if nm "$BUILD/runtime/kernels/loops-base.o" | grep -qE '__(asan|tsan|ubsan|gcov)'; then
	skip "kernels this build is instrumented"
	finish
fi

# vectors VARIANT REGISTERS FUNCTION... : those that never add, multiply, … in REGISTERS
vectors()
{
	local variant=$1 registers=$2 f bad=

	shift 2
	for f in "$@"; do
		objdump -d --no-show-raw-insn --disassemble="$f" "$BUILD/runtime/kernels/loops-$variant.o" |
			grep -qE "^ .*\bv?p?(add|mul|min|max|and|or|xor|cmp|sub|tern|test)[a-z0-9]* .*%$registers" || bad="$bad $f"
	done
	check "kernels.$variant.$registers$bad" [ -z "$bad" ]
}

every='SUM_INT8 SUM_UINT8 SUM_INT16 SUM_UINT16 SUM_INT32 SUM_UINT32 SUM_INT64 SUM_UINT64 SUM_FLOAT SUM_DOUBLE
	PROD_INT8 PROD_UINT8 PROD_INT16 PROD_UINT16 PROD_INT32 PROD_UINT32 PROD_FLOAT PROD_DOUBLE
	MIN_INT8 MIN_UINT8 MIN_INT16 MIN_UINT16 MIN_INT32 MIN_UINT32 MIN_FLOAT
	MAX_INT8 MAX_UINT8 MAX_INT16 MAX_UINT16 MAX_INT32 MAX_UINT32 MAX_FLOAT
	BAND_BYTE BOR_INT32 BXOR_UINT64 LAND_INT32 LOR_INT8 LXOR_INT16 LAND_BOOL LOR_LOGICAL
	SUM_FLOAT_COMPLEX SUM_DOUBLE_COMPLEX PROD_FLOAT_COMPLEX'
wide='PROD_INT64 PROD_UINT64 MIN_INT64 MIN_UINT64 MAX_INT64 MAX_UINT64 MIN_DOUBLE MAX_DOUBLE PROD_DOUBLE_COMPLEX'
# shellcheck disable=SC2086
{
	vectors base xmm $every
	vectors avx2 ymm $every $wide
	vectors avx512 zmm $every $wide
}
fused=
for v in base avx2 avx512; do
	objdump -d --no-show-raw-insn "$BUILD/runtime/kernels/loops-$v.o" | grep -qE '\bvf(n)?m(add|sub)' && fused="$fused $v"
done
check "kernels.not_fused$fused" [ -z "$fused" ]
# What the rest of the library is made of runs on every CPU.
other=$(find "$BUILD/runtime" "$BUILD/backends" "$BUILD/compiler" "$BUILD/lang" "$BUILD/util" -name '*.o' ! -name 'loops-avx*' \
	-exec objdump -d --no-show-raw-insn {} + | grep -cE '%(ymm|zmm)[0-9]')
check "kernels.baseline $other" [ "$other" -eq 0 ]
finish
