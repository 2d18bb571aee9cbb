-- require "strict": global variables that were not assigned at the top level are errors.
local declared = {arg = true}
local meta = getmetatable(_G) or {}
meta.__newindex = function(t, key, value)
	if key ~= 'arg' then
		error("assign to undeclared variable '" .. tostring(key) .. "'", 2)
	end
	rawset(t, key, value)
end
meta.__index = function(_, key)
	if key ~= 'arg' then
		error("variable '" .. tostring(key) .. "' is not declared", 2)
	end
end
setmetatable(_G, meta)
return declared
