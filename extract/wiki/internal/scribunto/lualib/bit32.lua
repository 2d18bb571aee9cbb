local bit32 = {}
local size = 4294967296

local function whole(n)
	return math.floor(n) % size
end

local function combine(start, rule)
	return function(...)
		local result = start
		for k = 1, select('#', ...) do
			local a, b, out, place = result, whole((select(k, ...))), 0, 1
			while place < size do
				local x, y = a % 2, b % 2
				if rule(x, y) then
					out = out + place
				end
				a, b, place = (a - x) / 2, (b - y) / 2, place * 2
			end
			result = out
		end
		return result
	end
end

bit32.band = combine(size - 1, function(x, y) return x == 1 and y == 1 end)
bit32.bor = combine(0, function(x, y) return x == 1 or y == 1 end)
bit32.bxor = combine(0, function(x, y) return x ~= y end)
function bit32.bnot(n)
	return size - 1 - whole(n)
end
function bit32.btest(...)
	return bit32.band(...) ~= 0
end
function bit32.lshift(n, places)
	if places < 0 then
		return bit32.rshift(n, -places)
	end
	return places >= 32 and 0 or whole(whole(n) * 2 ^ places)
end
function bit32.rshift(n, places)
	if places < 0 then
		return bit32.lshift(n, -places)
	end
	return places >= 32 and 0 or math.floor(whole(n) / 2 ^ places)
end
function bit32.arshift(n, places)
	local shifted = bit32.rshift(n, places)
	if places > 0 and whole(n) >= size / 2 then
		shifted = shifted + size - 2 ^ (32 - math.min(places, 32))
	end
	return shifted
end
function bit32.extract(n, field, width)
	return bit32.rshift(n, field) % 2 ^ (width or 1)
end
return bit32
