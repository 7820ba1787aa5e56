# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
"""Projects, users, roles, the catalog, flavors, an image, the public network and one application credential.

Each is made only when it is not there. Writes clouds.yaml and files with OS_* variables.
"""
import calendar, json, os, sys, time
import requests
H, B, D, PW, REGION, PHASE = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5], sys.argv[6]
SERVICES = sys.argv[7].split()
AUTH = "http://%s:%d/v3" % (H, B)
s = requests.Session(); s.trust_env = False

def call(method, url, body=None, ok=(200, 201, 202, 204), **kw):
    r = s.request(method, url, json=body, timeout=60, **kw)
    if r.status_code == 401 and s.headers.get("X-Auth-Token") and "headers" not in kw and not url.endswith("/auth/tokens"):
        s.headers["X-Auth-Token"] = token("admin", "admin").headers["X-Subject-Token"]   # TESTBED_TOKEN_TTL is short
        r = s.request(method, url, json=body, timeout=60, **kw)
    if ok and r.status_code not in ok:
        sys.exit("%s %s -> %d %s" % (method, url, r.status_code, r.text[:500]))
    return r

def token(user, project):
    return call("POST", AUTH + "/auth/tokens", {"auth": {"identity": {"methods": ["password"], "password": {"user": {
        "name": user, "domain": {"id": "default"}, "password": PW}}},
        "scope": {"project": {"name": project, "domain": {"id": "default"}}}}})

def ensure(path, coll, one, match, body):
    q = "&".join("%s=%s" % kv for kv in match.items())
    got = call("GET", "%s%s?%s" % (AUTH, path, q)).json()[coll]
    got = [g for g in got if all(str(g.get(k)) == str(v) for k, v in match.items())]
    return got[0] if got else call("POST", AUTH + path, {one: dict(match, **body)}).json()[one]

r = token("admin", "admin")
s.headers["X-Auth-Token"] = r.headers["X-Subject-Token"]
admin_project = r.json()["token"]["project"]["id"]
EP = {"network": "http://%s:%d" % (H, B + 696), "block-storage": "http://%s:%d/v3/%%(project_id)s" % (H, B + 776),
      "volumev3": "http://%s:%d/v3/%%(project_id)s" % (H, B + 776),
      "load-balancer": "http://%s:%d" % (H, B + 876), "compute": "http://%s:%d/v2.1" % (H, B + 774),
      "image": "http://%s:%d" % (H, B + 292), "placement": "http://%s:%d" % (H, B + 778)}
NAMES = {"network": "neutron", "block-storage": "cinder", "volumev3": "cinderv3", "load-balancer": "octavia",
         "compute": "nova", "image": "glance", "placement": "placement"}
WANT = {"neutron": ["network"], "cinder": ["block-storage", "volumev3"], "octavia": ["load-balancer"],
        "nova": ["compute", "image", "placement"]}

if PHASE == "identity":
    roles = {x["name"]: x["id"] for x in call("GET", AUTH + "/roles").json()["roles"]}
    for name in ("service", "load-balancer_member", "load-balancer_observer", "load-balancer_admin"):
        if name not in roles:
            roles[name] = call("POST", AUTH + "/roles", {"role": {"name": name}}).json()["role"]["id"]
    users = {}
    for proj, user, rs in (("service", "svc", ("admin", "service")), ("demo", "demo", ("member", "load-balancer_member")),
                           ("other", "other", ("member", "load-balancer_member"))):
        p = ensure("/projects", "projects", "project", {"name": proj, "domain_id": "default"}, {})["id"]
        u = ensure("/users", "users", "user", {"name": user, "domain_id": "default"}, {"password": PW, "default_project_id": p})["id"]
        users[user] = (u, p)
        for role in rs:
            call("PUT", "%s/projects/%s/users/%s/roles/%s" % (AUTH, p, u, roles[role]))
    for svc in SERVICES:
        for typ in WANT.get(svc, []):
            sid = ensure("/services", "services", "service", {"type": typ}, {"name": NAMES[typ]})["id"]
            for iface in ("public", "internal", "admin"):
                ensure("/endpoints", "endpoints", "endpoint", {"service_id": sid, "interface": iface, "region_id": REGION}, {"url": EP[typ]})
    # one application credential of the demo user
    path = D + "/appcred.json"
    if not os.path.exists(path):
        uid, pid = users["demo"]
        t = token("demo", "demo").headers["X-Subject-Token"]
        r = call("POST", "%s/users/%s/application_credentials" % (AUTH, uid), {"application_credential": {
            "name": "testbed", "unrestricted": True}}, headers={"X-Auth-Token": t}).json()["application_credential"]
        json.dump(r, open(path, "w"))
    ac = json.load(open(path))
    demo_project = users["demo"][1]
    clouds = {}
    for cloud, user, proj in (("admin", "admin", "admin"), ("demo", "demo", "demo"), ("other", "other", "other")):
        clouds[cloud] = {"region_name": REGION, "identity_api_version": 3, "auth": {"auth_url": AUTH, "username": user, "password": PW,
                         "project_name": proj, "user_domain_name": "Default", "project_domain_name": "Default"}}
        with open("%s/openrc-%s" % (D, cloud), "w") as f:
            f.write("export OS_AUTH_URL=%s OS_USERNAME=%s OS_PASSWORD=%s OS_PROJECT_NAME=%s OS_USER_DOMAIN_NAME=Default "
                    "OS_PROJECT_DOMAIN_NAME=Default OS_DOMAIN_NAME=Default OS_REGION_NAME=%s OS_IDENTITY_API_VERSION=3\n" % (AUTH, user, PW, proj, REGION))
    clouds["appcred"] = {"region_name": REGION, "auth_type": "v3applicationcredential", "auth": {"auth_url": AUTH,
                         "application_credential_id": ac["id"], "application_credential_secret": ac["secret"]}}
    with open(D + "/openrc-appcred", "w") as f:
        f.write("export OS_AUTH_TYPE=v3applicationcredential OS_AUTH_URL=%s OS_APPLICATION_CREDENTIAL_ID=%s OS_APPLICATION_CREDENTIAL_SECRET=%s "
                "OS_REGION_NAME=%s OS_IDENTITY_API_VERSION=3\n" % (AUTH, ac["id"], ac["secret"], REGION))
    json.dump({"clouds": clouds}, open(D + "/clouds.yaml", "w"), indent=1)      # JSON is YAML
    with open(D + "/cloud.conf", "w") as f:
        f.write("[Global]\nauth-url = %s\nusername = demo\npassword = %s\ntenant-id = %s\ndomain-name = Default\nregion = %s\n" % (AUTH, PW, demo_project, REGION))

def wait_services(url, want):
    # An answer of the API is not enough: a request cast to a queue which nobody
    # reads yet is lost. Wait for a heartbeat of this run's processes.
    def fresh(x):
        up = x.get("updated_at") and calendar.timegm(time.strptime(x["updated_at"][:19], "%Y-%m-%dT%H:%M:%S"))
        return x["state"] == "up" and up and up >= os.path.getmtime("%s/run/%s.pid" % (D, x["binary"]))
    for i in range(360):
        v = call("GET", url).json()["services"]
        if {x["binary"] for x in v if x["binary"] in want and fresh(x)} == want:
            return
        time.sleep(0.5)
    sys.exit("not up: %r" % v)

if PHASE == "resources":
    if "neutron" in SERVICES:
        n = EP["network"] + "/v2.0"
        if not call("GET", n + "/networks?name=public").json()["networks"]:
            net = call("POST", n + "/networks", {"network": {"name": "public", "router:external": True,
                       "provider:network_type": "flat", "provider:physical_network": "public", "project_id": admin_project}}).json()["network"]["id"]
            call("POST", n + "/subnets", {"subnet": {"network_id": net, "name": "public", "ip_version": 4, "cidr": "203.0.113.0/24", "enable_dhcp": False, "project_id": admin_project}})
    if "nova" in SERVICES:
        c = EP["compute"]
        have = {f["name"] for f in call("GET", c + "/flavors").json()["flavors"]}
        for fid, name, ram, vcpus, disk in (("1", "m1.tiny", 512, 1, 1), ("2", "m1.small", 2048, 1, 20)):
            if name not in have:
                call("POST", c + "/flavors", {"flavor": {"id": fid, "name": name, "ram": ram, "vcpus": vcpus, "disk": disk}})
        g = EP["image"] + "/v2/images"
        if not call("GET", g + "?name=noop").json()["images"]:
            img = call("POST", g, {"name": "noop", "disk_format": "raw", "container_format": "bare", "visibility": "public"}).json()["id"]
            call("PUT", g + "/" + img + "/file", data=b"\0" * 512, headers={"Content-Type": "application/octet-stream"})
        wait_services(c + "/os-services", {"nova-conductor", "nova-scheduler", "nova-compute"})
        # wait until the compute host is mapped into its cell and known to placement
        for i in range(120):
            rps = call("GET", EP["placement"] + "/resource_providers").json()["resource_providers"]
            hyp = call("GET", c + "/os-hypervisors").json()["hypervisors"]
            if rps and hyp:
                break
            time.sleep(0.5)
        else:
            sys.exit("no compute host after 60 s: see nova-compute.log and nova-scheduler.log")
    if "cinder" in SERVICES:
        wait_services("http://%s:%d/v3/%s/os-services" % (H, B + 776, admin_project), {"cinder-scheduler", "cinder-volume"})
