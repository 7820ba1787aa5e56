// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
)

// gate stands between a controller manager and a server. A test sees there what the manager writes, and meddles with it.
type gate struct {
	*httptest.Server
	server http.Handler

	mu     sync.Mutex
	meddle meddler
	writes []string
}

// meddler does what becomes of a request; next is the server.
type meddler func(w http.ResponseWriter, r *http.Request, next http.Handler)

// set sets who interferes from now on; nil: no client.
func (g *gate) set(m meddler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.meddle = m
}

// written returns the writes that arrived so far, as method, path, and the field manager.
func (g *gate) written() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.writes)
}

// ServeHTTP records each write, and lets the meddler decide.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	meddle := g.meddle
	if isWrite(r) {
		g.writes = append(g.writes, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("fieldManager")))
	}
	g.mu.Unlock()
	if meddle == nil {
		g.server.ServeHTTP(w, r)
		return
	}
	meddle(w, r, g.server)
}

// isWrite reports whether a request changes something that is to stay: logins, dry runs, reviews, leases and events do not.
func isWrite(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	kind := path.Base(r.URL.Path)
	if r.Method != http.MethodPost {
		kind = path.Base(path.Dir(r.URL.Path))
	}
	return !r.URL.Query().Has("dryRun") && !slices.Contains([]string{"tokens", "leases", "events", "subjectaccessreviews", "selfsubjectaccessreviews", "tokenreviews"}, kind)
}

// body reads what a request carries, and leaves it there for others.
func body(r *http.Request) string {
	data, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(data))
	return string(data)
}

// finish lets the server finish a request, whatever becomes of who sent it, and keeps the response.
func finish(r *http.Request, next http.Handler) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	body(r)
	next.ServeHTTP(response, r.WithContext(context.WithoutCancel(r.Context())))
	return response
}

// pass records a response.
func pass(w http.ResponseWriter, response *httptest.ResponseRecorder) {
	for name, values := range response.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes())
}

// open starts a gate, with TLS or without.
func (g *gate) open(t *testing.T, secure bool) *gate {
	g.Server = httptest.NewUnstartedServer(g)
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	// A manager that still runs connects again immediately, and Close waits for its watches, which only the context of the server ends.
	ctx, end := context.WithCancel(context.Background())
	g.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	if g.EnableHTTP2 = secure; secure {
		g.StartTLS()
	} else {
		g.Start()
	}
	t.Cleanup(func() {
		end()
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

// newKubernetesGate stands before a kube-apiserver. Its clients act as configured.
func newKubernetesGate(t *testing.T, config *rest.Config) *gate {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Del("Authorization")
	}}
	return (&gate{server: proxy}).open(t, true)
}

// kubeconfig leads to a gate before a kube-apiserver.
func (g *gate) kubeconfig() []byte {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
	return kubeconfigTo(g.URL, ca)
}

// kubeconfigTo returns a kubeconfig with a token that no client checks.
func kubeconfigTo(server string, ca []byte) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}],
		"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority-data":%q}}],"users":[{"name":"c","user":{"token":"any"}}]}`, server, base64.StdEncoding.EncodeToString(ca))
}

// newManagerGate stands between Groundskeeper's i-th controller manager and the API server, and returns the flag that leads there.
func newManagerGate(t *testing.T, p *plane.Plane) (g *gate, flag string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.Dir(), "kubeconfigs", "groundskeeper-controller-manager.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	g = newKubernetesGate(t, config)
	return g, "--kubeconfig=" + write(t, string(g.kubeconfig()))
}

// newCloudGate stands before the fake of OpenStack, whose responds lead through the gate, too.
func newCloudGate(t *testing.T, cloud *fake.Server) *gate {
	t.Helper()
	g := &gate{}
	behind := strings.TrimSuffix(cloud.AuthURL(), "/identity/v3")
	g.server = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response := httptest.NewRecorder()
		cloud.ServeHTTP(response, r)
		response.Body = bytes.NewBuffer(bytes.ReplaceAll(response.Body.Bytes(), []byte(behind), []byte(g.URL)))
		pass(w, response)
	})
	return g.open(t, false)
}

// clouds is how to log in behind a gate.
func (g *gate) clouds() []byte {
	return []byte(`{clouds: {cloud: {auth: {auth_url: "` + g.URL + `/identity/v3", username: gardener, password: first, user_domain_name: Default, project_id: garden}}}}`)
}

// accept lets a Kluster continue with the cloud behind a gate, whose Keystone has another host than the cloud without it.
func accept(k *kubernikusv1.Kluster, g *gate) {
	place := strings.TrimPrefix(g.URL, "http://") + "/" + fake.Region + "/garden"
	metav1.SetMetaDataAnnotation(&k.ObjectMeta, kubernikusv1.AcceptCloudAnnotation, place)
}

// gates are those of a descent: before its workload cluster, and before its cloud.
type gates struct{ clusterGate, cloudGate *gate }

// gated puts gates between the controller manager and what it tears down.
func (d *descent) gated(t *testing.T) gates {
	t.Helper()
	g := gates{clusterGate: newKubernetesGate(t, d.o.config), cloudGate: newCloudGate(t, d.cloud)}
	d.edit(t, d.k, func() { accept(d.k, g.cloudGate) })
	d.edit(t, d.secret, func() {
		d.secret.Data = map[string][]byte{"kubeconfig": g.clusterGate.kubeconfig(), "clouds.yaml": g.cloudGate.clouds()}
	})
	return g
}

// It creates one leftover of each kind in the cloud, which the cluster does not know.
func (d *descent) leftovers(t *testing.T) {
	t.Helper()
	d.edit(t, d.k, func() { d.k.Spec.Deorbit.UnseenVolumes = kubernikusv1.DeletionPolicyDelete })
	litter(d.cloud, d.k, "gone")
}

// litter makes one of each kind in the cloud, as the cluster would for a Service.
func litter(cloud *fake.Server, k *kubernikusv1.Kluster, service string) {
	cluster, tag := k.ClusterName(), map[string]string{"cinder.csi.openstack.org/cluster": k.CSIClusterID()}
	volume := cloud.AddVolume("garden", fake.Volume{Name: "lost-" + service, Metadata: tag})
	cloud.AddSnapshot("garden", fake.Snapshot{Name: "lost-" + service, VolumeID: volume, Metadata: tag})
	cloud.AddLoadBalancer("garden", fake.LoadBalancer{
		Name: "kube_service_" + cluster + "_shop_" + service, Description: "Kubernetes external service shop/" + service + " from cluster " + cluster,
	})
	cloud.AddFloatingIPFor("garden", fake.FloatingIP{Address: fmt.Sprintf("203.0.113.%d", 200+len(cloud.FloatingIPs("garden"))),
		Description: "Floating IP for Kubernetes external service shop/" + service + " from cluster " + cluster})
	cloud.AddSecurityGroup("garden", fake.SecurityGroup{
		Name: "lb-sg-uid-of-" + service + "-shop-" + service, Description: "Security Group for shop/" + service + " Service LoadBalancer in cluster " + cluster,
	})
}

// inCloud returns the ids of all that the project has, by what they are.
func inCloud(cloud *fake.Server) map[string]string {
	all := map[string]string{}
	for _, v := range cloud.Volumes("garden") {
		all[v.ID] = "volume " + v.Name
	}
	for _, s := range cloud.Snapshots("garden") {
		all[s.ID] = "snapshot " + s.Name
	}
	for _, b := range cloud.LoadBalancers("garden") {
		all[b.ID] = "load balancer " + b.Name
	}
	for _, f := range cloud.FloatingIPs("garden") {
		all[f.ID] = "floating IP " + f.Address
	}
	for _, s := range cloud.SecurityGroups("garden") {
		all[s.ID] = "security group " + s.Name
	}
	return all
}
