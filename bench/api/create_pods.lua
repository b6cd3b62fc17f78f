-- POSTs pods of about 2 KB, each under a name of its own:
--   BENCH_RESULT=FILE wrk -s create_pods.lua URL -- TOKEN_FILE RUN [COUNT]
-- TOKEN_FILE holds a bearer token; RUN goes into the names, so that two runs against one server do not collide. With COUNT (and
-- -t1) it stops as soon as exactly that many pods exist. FILE gets one line of JSON with what came of it.

local ffi = require("ffi")
ffi.cdef("int getpid(void); int kill(int pid, int signal);")

local path = "/api/v1/namespaces/default/pods"
local number, count, prefix = 0, math.huge, ""
created, failed, first_failure = 0, 0, ""

local head = [[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"]]
local body = [[","namespace":"default","labels":{"app.kubernetes.io/name":"storefront","app.kubernetes.io/instance":"storefront-eu",]]
  .. [["app.kubernetes.io/component":"checkout","app.kubernetes.io/version":"4.18.2","pod-template-hash":"7d4b9c6f58",]]
  .. [["team":"payments","tier":"backend"},"annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"9102",]]
  .. [["prometheus.io/path":"/metrics","checksum/config":"6f1ed002ab5595859014ebf0951522d9cbf8a3b5d1b8ba32a8a2c1a7e4c3a6d2"}},]]
  .. [["spec":{"restartPolicy":"Always","terminationGracePeriodSeconds":45,"serviceAccountName":"default",]]
  .. [["nodeSelector":{"kubernetes.io/os":"linux","node.example.com/pool":"general"},]]
  .. [["tolerations":[{"key":"dedicated","operator":"Equal","value":"storefront","effect":"NoSchedule"}],]]
  .. [["containers":[{"name":"checkout","image":"registry.example.com/storefront/checkout:4.18.2",]]
  .. [["imagePullPolicy":"IfNotPresent","args":["--listen=:8080","--metrics=:9102","--log-format=json","--region=eu-west-1"],]]
  .. [["ports":[{"name":"http","containerPort":8080,"protocol":"TCP"},{"name":"metrics","containerPort":9102,"protocol":"TCP"}],]]
  .. [["env":[{"name":"DATABASE_HOST","value":"orders-primary.storefront.svc.cluster.local"},{"name":"DATABASE_PORT","value":"5432"},]]
  .. [[{"name":"CACHE_ENDPOINTS","value":"cache-0.cache:6379,cache-1.cache:6379,cache-2.cache:6379"},]]
  .. [[{"name":"GOMAXPROCS","value":"2"},{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}],]]
  .. [["resources":{"requests":{"cpu":"250m","memory":"256Mi"},"limits":{"cpu":"1","memory":"512Mi"}},]]
  .. [["readinessProbe":{"httpGet":{"path":"/readyz","port":"http"},"initialDelaySeconds":3,"periodSeconds":5,"failureThreshold":3},]]
  .. [["livenessProbe":{"httpGet":{"path":"/livez","port":"http"},"initialDelaySeconds":15,"periodSeconds":10},]]
  .. [["volumeMounts":[{"name":"config","mountPath":"/etc/storefront","readOnly":true},{"name":"scratch","mountPath":"/var/run/scratch"}]}],]]
  .. [["volumes":[{"name":"config","configMap":{"name":"storefront-config","defaultMode":420}},{"name":"scratch","emptyDir":{}}]}}]]

local threads = {}

function setup(thread)
  thread:set("thread_number", #threads + 1)
  table.insert(threads, thread)
end

function init(arguments)
  local token = assert(io.open(arguments[1])):read("*l")
  prefix = "pod-" .. arguments[2] .. "-" .. thread_number .. "-"
  -- One more, because wrk makes one request at the start just to look at it.
  count = (tonumber(arguments[3]) or count) + 1
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = "Bearer " .. token
end

function request()
  -- Connections that have nothing left to create must still ask for something until the others have finished.
  if number >= count then return wrk.format("GET", "/version", nil, "") end
  number = number + 1
  return wrk.format(nil, path, nil, head .. prefix .. number .. body)
end

function response(status, headers, text)
  if status == 201 then
    created = created + 1
    -- As Ctrl-C does: wrk then ends early and still calls done.
    if created == count - 1 then ffi.C.kill(ffi.C.getpid(), 2) end
  elseif status ~= 200 then
    failed = failed + 1
    if first_failure == "" then first_failure = status .. " " .. text:sub(1, 200) end
  end
end

function done(summary, latency)
  local all_created, all_failed, failure = 0, 0, ""
  for _, thread in ipairs(threads) do
    all_created = all_created + thread:get("created")
    all_failed = all_failed + thread:get("failed")
    if failure == "" then failure = thread:get("first_failure") end
  end
  local errors = summary.errors
  all_failed = all_failed + errors.connect + errors.read + errors.write + errors.timeout
  local line = string.format(
    '{"created":%d,"failed":%d,"seconds":%.3f,"per_second":%.0f,"p50_ms":%.3f,"p99_ms":%.3f,"failure":"%s"}',
    all_created, all_failed, summary.duration / 1e6, all_created / (summary.duration / 1e6),
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, (failure:gsub('[%c"\\]', " ")))
  local out = assert(io.open(assert(os.getenv("BENCH_RESULT")), "w"))
  out:write(line, "\n")
  out:close()
end
