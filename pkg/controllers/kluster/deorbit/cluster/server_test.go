// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

const secret = "sekret-token"

// server is an API server at the wire: it responds as a test specifies, and otherwise as one that has nothing.
type server struct {
	*httptest.Server
	mu        sync.Mutex
	responses map[string]func(http.ResponseWriter, *http.Request)
	requests  []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{responses: map[string]func(http.ResponseWriter, *http.Request){}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
		response := s.responses[r.Method+" "+r.URL.Path]
		s.mu.Unlock()
		switch {
		case response != nil:
			response(w, r)
		case r.Method == http.MethodGet && r.URL.Path == coreAPI:
			reply(w, 200, resources("namespaces", "persistentvolumes", "persistentvolumeclaims", "pods", "nodes", "services"))
		case r.Method == http.MethodGet && (strings.HasPrefix(r.URL.Path, coreAPI) || strings.HasPrefix(r.URL.Path, "/apis/storage.k8s.io/v1/")):
			reply(w, 200, list(""))
		default:
			reply(w, 404, status(404, "NotFound", "the server could not find the requested resource"))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// on makes the server respond to a request.
func (s *server) on(request string, response func(http.ResponseWriter, *http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.responses[request] = response
}

// It makes the server respond to a request with an object.
func (s *server) respond(request string, code int, object any) {
	s.on(request, func(w http.ResponseWriter, _ *http.Request) { reply(w, code, object) })
}

// The requests with that prefix; it discards all.
func (s *server) received(prefix string) (found []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.HasPrefix(r, prefix) {
			found = append(found, r)
		}
	}
	s.requests = nil
	return found
}

func reply(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // the client has disappeared otherwise
}

func status(code int, reason, message string) map[string]any {
	return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}
}

func resources(names ...string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	return list
}

// list returns a list of objects; more is its continue token.
func list(more string, items ...any) map[string]any {
	return map[string]any{"metadata": map[string]any{"continue": more, "resourceVersion": "9"}, "items": append([]any{}, items...)}
}

// object returns one of namespace shop with a spec.
func object(name string, spec map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name, "uid": name, "resourceVersion": "7"}, "spec": spec}
}

func connect(t *testing.T, s *server) *Connection {
	t.Helper()
	c, err := Connect(&rest.Config{Host: s.URL, BearerToken: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func deleteAll(change ...func(*stage.Work)) stage.Work {
	all := kubernikusv1.DeletionPolicyDelete
	w := stage.Work{Policies: stage.Policies{PersistentVolumes: all, LoadBalancers: all, FloatingIPs: all, Snapshots: all}, Began: time.Now(), Now: time.Now()}
	for _, f := range change {
		f(&w)
	}
	return w
}

// inCluster are the stages that Run does.
var inCluster = []kubernikusv1.DeorbitStage{kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitSnapshots,
	kubernikusv1.DeorbitClaims, kubernikusv1.DeorbitServices, kubernikusv1.DeorbitWait}

// TestEmpty checks that an empty cluster has no remaining objects, and that missing kinds do not make it unreachable.
func TestEmpty(t *testing.T) {
	s := newServer(t)
	c := connect(t, s)
	s.respond("GET /apis/storage.k8s.io/v1/storageclasses", 404, status(404, "NotFound", "the server could not find the requested resource"))
	for _, name := range inCluster[1:] {
		report, err := c.Run(t.Context(), name, deleteAll())
		if err != nil || len(report.Remaining)+len(report.Retained)+len(report.Deleted) > 0 {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
	// It can neither be frozen, nor is that its API server's failure.
	report, err := c.Run(t.Context(), kubernikusv1.DeorbitFreeze, deleteAll())
	if err != nil || len(report.Remaining) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := c.Run(t.Context(), kubernikusv1.DeorbitVerify, deleteAll()); err == nil {
		t.Error("a stage outside the cluster ran")
	}
}

// TestUnreachable checks that every failure of the API server is an error in every stage, and that no error contains credentials.
func TestUnreachable(t *testing.T) {
	for name, response := range map[string]func(http.ResponseWriter, *http.Request){
		"401": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 401, status(401, "Unauthorized", "Unauthorized"))
		},
		"403": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 403, status(403, "Forbidden", `x is forbidden: User "u" cannot list resource "x"`))
		},
		"500": func(w http.ResponseWriter, _ *http.Request) { reply(w, 500, status(500, "InternalError", "etcd")) },
		"503": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"echo": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, strings.Repeat("x\n", 500)+r.Header.Get("Authorization"), http.StatusInternalServerError)
		},
		"echo403": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("Authorization"), http.StatusForbidden)
		},
		"404 of a proxy": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "default backend - 404", http.StatusNotFound)
		},
		"404 and a page of a proxy": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == coreAPI {
				reply(w, 200, resources())
				return
			}
			http.Error(w, "default backend - 404", http.StatusNotFound)
		},
		"page of a proxy": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome</html>") },
		"redirect":        func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere" {
					t.Error("it followed a redirect, with the credentials")
				}
				response(w, r)
			})
			c := connect(t, s)
			for _, name := range inCluster {
				report, err := c.Run(t.Context(), name, deleteAll())
				if err == nil || strings.Contains(err.Error(), secret) || len(err.Error()) > 2*maxText || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %+v, %v", name, report, err)
				}
			}
			if id, err := c.ID(t.Context()); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s, %v", id, err)
			}
		})
	}
}

func TestID(t *testing.T) {
	s := newServer(t)
	s.respond("GET /api/v1/namespaces/kube-system", 200, object("kube-system", nil))
	if id, err := connect(t, s).ID(t.Context()); err != nil || id != "kube-system" {
		t.Errorf("%s, %v", id, err)
	}
}

// TestPages checks that a list is read completely, and restarted if its continue token expired.
func TestPages(t *testing.T) {
	balancer := func(name string) any { return object(name, map[string]any{"type": "LoadBalancer"}) }
	s := newServer(t)
	expired := false
	s.on("GET /api/v1/services", func(w http.ResponseWriter, r *http.Request) {
		switch more := r.URL.Query().Get("continue"); {
		case more == "" && r.URL.Query().Get("limit") == "":
			reply(w, 200, list("", balancer("a"), balancer("b")))
		case more == "":
			reply(w, 200, list("token", balancer("a")))
		case expired:
			reply(w, 410, status(410, "Expired", "the continue parameter is too old"))
		default:
			reply(w, 200, list("", balancer("b")))
		}
	})
	c := connect(t, s)
	for _, expired = range []bool{false, true} {
		report, err := c.Run(t.Context(), kubernikusv1.DeorbitServices, deleteAll())
		if err != nil || len(report.Seen.Services) != 2 || len(report.Remaining) != 2 {
			t.Errorf("expired %t: %+v, %v", expired, report, err)
		}
	}
	s.respond("GET /api/v1/services", 410, status(410, "Expired", "always"))
	if report, err := c.Run(t.Context(), kubernikusv1.DeorbitServices, deleteAll()); err == nil {
		t.Errorf("%+v", report)
	}
	// The second page fails: nothing was seen.
	s.on("GET /api/v1/services", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("continue") == "" {
			reply(w, 200, list("token", balancer("a")))
			return
		}
		reply(w, 500, status(500, "InternalError", "etcd"))
	})
	if report, err := c.Run(t.Context(), kubernikusv1.DeorbitServices, deleteAll()); err == nil || len(report.Seen.Services) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if found := s.received("DELETE"); len(found) > 0 {
		t.Error(found)
	}
}

// TestNoListing checks that JSON that is not a list of the kind is not considered an empty cluster.
func TestNoListing(t *testing.T) {
	s := newServer(t)
	for _, response := range []map[string]any{{"hello": "world"}, {"kind": "PodList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "9"}}} {
		s.respond("GET /api/v1/services", 200, response)
		if report, err := connect(t, s).Run(t.Context(), kubernikusv1.DeorbitServices, deleteAll()); err == nil {
			t.Errorf("%v: %+v", response, report)
		}
	}
}

// TestNoServer checks that a server that does not exist, or whose name cannot be resolved, is unreachable.
func TestNoServer(t *testing.T) {
	s := newServer(t)
	s.Close()
	for _, host := range []string{s.URL, "https://" + secret + ".invalid"} {
		c, err := Connect(&rest.Config{Host: host, BearerToken: secret})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range inCluster {
			if report, err := c.Run(t.Context(), name, deleteAll()); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %+v, %v", name, report, err)
			}
		}
	}
	if _, err := Connect(&rest.Config{Host: "https://a.example", TLSClientConfig: rest.TLSClientConfig{CertData: []byte(secret), KeyData: []byte(secret)}}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
}

// TestAttachments checks that the server of a volume is that of the node in its VolumeAttachment, and unknown without permission to
// list them.
func TestAttachments(t *testing.T) {
	const path = "GET /apis/storage.k8s.io/v1/volumeattachments"
	volume := object("pv", map[string]any{"csi": map[string]any{"driver": "cinder.csi.openstack.org", "volumeHandle": "v"}})
	attachment := object("va", map[string]any{"attacher": "cinder.csi.openstack.org", "nodeName": "node-1", "source": map[string]any{"persistentVolumeName": "pv"}})
	for name, c := range map[string]struct {
		code     int
		response any
		want     string
		fails    bool
	}{
		"attached":  {200, list("", attachment), "server-1", false},
		"none":      {200, list(""), "", false},
		"forbidden": {403, status(403, "Forbidden", "no"), "", false},
		"broken":    {500, status(500, "InternalError", "no"), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.respond("GET /api/v1/persistentvolumes", 200, list("", volume))
			s.respond("GET /api/v1/nodes", 200, list("", object("node-1", map[string]any{"providerID": "openstack:///server-1"})))
			s.respond(path, c.code, c.response)
			world := &inventory.World{}
			err := connect(t, s).volumes(t.Context(), world)
			if (err != nil) != c.fails {
				t.Fatalf("error = %v, want one: %t", err, c.fails)
			}
			if !c.fails && world.Volumes[0].ServerID != c.want {
				t.Errorf("server = %q, want %q", world.Volumes[0].ServerID, c.want)
			}
		})
	}
}
