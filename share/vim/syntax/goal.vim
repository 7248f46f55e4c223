" SPDX-License-Identifier: BSD-3-Clause
" Syntax of GOAL, in both dialects; see goal(5). If vim does not look in the directory of the installation, add it:
" set runtimepath+=PREFIX/share/vim/vimfiles
" GOAL has no reserved words. This file does not parse, so a variable with the name of a keyword looks like that keyword.

if exists('b:current_syntax')
  finish
endif

syntax keyword goalStatement import schedule buffer result rank if else for assert send recv copy reduce calc nop call
syntax keyword goalClause implements commutative reproducible inplace gets of to downto by from into with tag level cpu nic
syntax keyword goalClause requires irequires as at
syntax keyword goalClause on nextgroup=goalExecutor skipwhite
syntax keyword goalExecutor contained app comm nic start
syntax keyword goalOperator mod xor and or not
syntax keyword goalMode global rootonly local in out inout scratch
syntax match goalFunction /\<\(log2\|ceillog2\|lowbit\|popcount\|abs\|min\|max\|blockoff\|blocklen\|sum\|extent\|side\|reverse\)\ze\s*(/
syntax match goalCollective /\<MPI_\w\+/
syntax match goalLabel /^\s*\zs\h\w*\(\[[^]]*\]\)\?\ze\s*:/
syntax match goalNumber /\<\d\+\>/
syntax region goalString start=/"/ end=/"/ oneline

" Plain GOAL has two more words.
syntax keyword goalStatement num_ranks
syntax match goalNumber /\<\d\+b\>/

syntax match goalComment ,//.*$,
syntax region goalComment start=,/\*, end=,\*/,

highlight default link goalStatement Statement
highlight default link goalClause Keyword
highlight default link goalExecutor Constant
highlight default link goalOperator Operator
highlight default link goalMode StorageClass
highlight default link goalFunction Function
highlight default link goalCollective Type
highlight default link goalLabel Label
highlight default link goalNumber Number
highlight default link goalString String
highlight default link goalComment Comment

let b:current_syntax = 'goal'
