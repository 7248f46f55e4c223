" SPDX-License-Identifier: BSD-3-Clause
autocmd BufRead,BufNewFile *.goal setfiletype goal
