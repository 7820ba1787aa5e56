-- Health of a Project, Kluster, DiscoveryBackend or Translation, by the conditions Ready and Stalled, which the API server of
-- Groundskeeper writes.
local ready, stalled
for _, condition in ipairs(obj.status ~= nil and obj.status.conditions or {}) do
  -- A Project's conditions have no generation: they are those of the current one.
  if condition.observedGeneration == nil or condition.observedGeneration == obj.metadata.generation then
    if condition.type == "Ready" then ready = condition end
    if condition.type == "Stalled" and condition.status == "True" then stalled = condition end
  end
end

if stalled ~= nil then
  if stalled.reason == "Paused" then
    return {status = "Suspended", message = stalled.message}
  end
  return {status = "Degraded", message = stalled.message}
end
if ready == nil then
  return {status = "Progressing", message = "the object has no summary of its conditions yet"}
end
if ready.status == "True" then
  return {status = "Healthy", message = ready.message}
end
return {status = "Progressing", message = ready.message}
