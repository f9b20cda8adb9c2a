-- What a script that serves several at once says of one of them: what pcall brought, or why it failed, without the script's line.
local function answer(fine, said)
  if fine or type(said) == 'table' then return said end
  return { err = string.match(said, '%u%u.*') or said }
end
