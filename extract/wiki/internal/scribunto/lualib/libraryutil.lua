local util = {}

function util.checkType(name, index, value, expected, nilOk)
	if value == nil and nilOk then
		return
	end
	if type(value) ~= expected then
		error(("bad argument #%d to '%s' (%s expected, got %s)"):format(index, name, expected, type(value)), 3)
	end
end

function util.checkTypeMulti(name, index, value, expected)
	for _, kind in ipairs(expected) do
		if type(value) == kind then
			return
		end
	end
	local kinds = table.concat(expected, ', ', 1, #expected - 1) .. (#expected > 1 and ' or ' or '') .. expected[#expected]
	error(("bad argument #%d to '%s' (%s expected, got %s)"):format(index, name, kinds, type(value)), 3)
end

function util.checkTypeForIndex(index, value, expected)
	if type(value) ~= expected then
		error(("value for index '%s' must be %s, %s given"):format(index, expected, type(value)), 3)
	end
end

function util.checkTypeForNamedArg(name, argument, value, expected, nilOk)
	if value == nil and nilOk then
		return
	end
	if type(value) ~= expected then
		error(("bad named argument %s to '%s' (%s expected, got %s)"):format(argument, name, expected, type(value)), 3)
	end
end

function util.makeCheckSelfFunction(library, name, self, description)
	return function(given, method)
		if given ~= self then
			error(("%s: invalid %s. Did you call %s with a dot instead of a colon, i.e. %s.%s() instead of %s:%s()?"):format(
				library, description, method, name, method, name, method), 3)
		end
	end
end

return util
