-- Checks the arguments of a template and gives them their types.
local export = {}

function export.process(args, params)
	local out, unknown = {}, {}
	for name, rule in pairs(params) do
		if rule.list then
			out[name] = {maxindex = 0}
		end
	end
	for name, value in pairs(args) do
		value = mw.text.trim(value)
		local base, index = name, nil
		local rule = params[name]
		if not rule and type(name) == "string" and name:find("%d+$") then
			base, index = name:match("^(.-)(%d+)$")
			rule, index = params[base], tonumber(index)
		elseif not rule and type(name) == "number" then
			for key, each in pairs(params) do
				if type(key) == "number" and each.list == true and name > key then
					base, rule, index = key, each, name - key + 1
				end
			end
		end
		if not rule then
			unknown[#unknown + 1] = tostring(name)
		else
			if rule.alias_of then
				base, rule = rule.alias_of, params[rule.alias_of]
			end
			if value ~= "" or rule.allow_empty then
				if rule.type == "number" then
					value = tonumber(value)
				elseif rule.type == "boolean" then
					value = value ~= "no" and value ~= "0"
				end
				if rule.list then
					index = index or 1
					out[base][index] = value
					out[base].maxindex = math.max(out[base].maxindex, index)
				else
					out[base] = value
				end
			end
		end
	end
	if #unknown > 0 then
		table.sort(unknown)
		error("The parameters \"" .. table.concat(unknown, "\", \"") .. "\" are not used by this template.")
	end
	for name, rule in pairs(params) do
		if out[name] == nil then
			out[name] = rule.default
			if rule.required and out[name] == nil then
				error("Parameter \"" .. tostring(name) .. "\" is required.")
			end
		end
	end
	return out
end

return export
