" :Why shows what was logged about the line under the cursor, or a range of lines, in a window below.
" Copy this file to ~/.vim/plugin (Vim) or ~/.config/nvim/plugin (Neovim).
if exists('g:loaded_empirica')
  finish
endif
let g:loaded_empirica = 1

function! s:Why(first, last) abort
  let place = expand('%:t') .. ':' .. a:first .. '-' .. a:last
  let lines = systemlist('git -C ' .. shellescape(expand('%:p:h')) .. ' empirica why ' .. shellescape(place) .. ' 2>&1')
  " without the tags for models
  call filter(lines, {_, line -> line !~# '^</\?records-'})
  execute 'botright' min([len(lines) + 1, 15]) 'new'
  setlocal buftype=nofile bufhidden=wipe noswapfile nomodeline wrap
  call setline(1, lines)
  setlocal nomodifiable
endfunction

command! -range Why call s:Why(<line1>, <line2>)
