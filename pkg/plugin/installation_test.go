// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"

	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

// ofKubernetes are the kinds of Kubernetes that a check reads, by group version. ofGroundskeeper are those of Groundskeeper.
var (
	ofKubernetes = map[string][]metav1.APIResource{
		"v1": {resource("pods", "Pod", true), resource("events", "Event", true), resource("configmaps", "ConfigMap", true), resource("services", "Service", true),
			resource("secrets", "Secret", true), resource("namespaces", "Namespace", false)},
		"apps/v1":                         {resource("deployments", "Deployment", true)},
		"coordination.k8s.io/v1":          {resource("leases", "Lease", true)},
		"discovery.k8s.io/v1":             {resource("endpointslices", "EndpointSlice", true)},
		"apiregistration.k8s.io/v1":       {resource("apiservices", "APIService", false)},
		"authentication.k8s.io/v1":        {resource("selfsubjectreviews", "SelfSubjectReview", false)},
		"admissionregistration.k8s.io/v1": {resource("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false)},
	}
	ofGroundskeeper = map[string][]metav1.APIResource{
		"core.gardener.cloud/v1beta1": {resource("projects", "Project", false)}, "kubernikus.sap.cc/v1": {resource("klusters", "Kluster", true)},
		"gimbal.heptio.com/v1": {resource("discoverybackends", "DiscoveryBackend", true)}, "midonet.org/v1": {resource("translations", "Translation", true)},
	}
)

func resource(name, kind string, namespaced bool) metav1.APIResource {
	return metav1.APIResource{Name: name, SingularName: strings.ToLower(kind), Kind: kind, Namespaced: namespaced, Verbs: []string{"get", "list", "watch", "create"}}
}

// cluster is a kube-apiserver that serves JSON by path, with the status that begins it if that is not 200, and 404 for the rest.
type cluster map[string]string

// fakeCluster returns a command for a cluster, which serves the kinds of Kubernetes and the further ones, and what the command prints.
func fakeCluster(t *testing.T, paths cluster, further map[string][]metav1.APIResource) (*command, *bytes.Buffer) {
	t.Helper()
	kinds := map[string][]metav1.APIResource{}
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, more := range []map[string][]metav1.APIResource{ofKubernetes, further} {
		for version, resources := range more {
			kinds[version] = resources
			if group, number, ok := strings.Cut(version, "/"); ok {
				v := metav1.GroupVersionForDiscovery{GroupVersion: version, Version: number}
				groups.Groups = append(groups.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
			}
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		version := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
		text, known := paths[r.URL.Path]
		switch {
		case r.URL.Path == "/api":
			_ = json.NewEncoder(w).Encode(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		case r.URL.Path == "/apis":
			_ = json.NewEncoder(w).Encode(groups)
		case kinds[version] != nil:
			_ = json.NewEncoder(w).Encode(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version, APIResources: kinds[version]})
		case known:
			var code int
			if n, _ := fmt.Sscanf(text, "%d ", &code); n == 1 {
				w.WriteHeader(code)
				_, text, _ = strings.Cut(text, " ")
			}
			_, _ = w.Write([]byte(text))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "%s not found"}`, r.URL.Path)
		}
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["it"], config.Contexts["it"], config.CurrentContext = &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.Context{Cluster: "it"}, "it"
	var out bytes.Buffer
	c := &command{out: &terminal{Writer: &out}, clock: clocktesting.NewFakePassiveClock(noon), config: clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{})}
	if err := c.connect(); err != nil {
		t.Fatal(err)
	}
	return c, &out
}

const (
	inSystem     = "/api/v1/namespaces/groundskeeper-system"
	apiServices  = "/apis/apiregistration.k8s.io/v1/apiservices/"
	forbidden    = `403 {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no"}`
	unauthorized = `401 {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401, "message": "Unauthorized"}`
	pendingPod   = `{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"namespace": "groundskeeper-system", "name": "groundskeeper-apiserver-1"},
		"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient memory."}]}}]}`
	podEvents = `{"kind": "EventList", "apiVersion": "v1", "items": [{"type": "Warning", "reason": "FailedScheduling", "message": "no memory is left",
		"involvedObject": {"kind": "Pod", "name": "groundskeeper-apiserver-1"}}]}`
)

// apiService returns one of Groundskeeper with a condition.
func apiService(group, version, status, reason, message string) string {
	return fmt.Sprintf(`{"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1", "metadata": {"name": "%[2]s.%[1]s"}, "spec": {"group": %[1]q, "version": %[2]q,
		"service": {"namespace": "groundskeeper-system", "name": "groundskeeper-apiserver", "port": 443}},
		"status": {"conditions": [{"type": "Available", "status": %[3]q, "reason": %[4]q, "message": %[5]q}]}}`, group, version, status, reason, message)
}

// registered returns paths with all APIServices of Groundskeeper.
func registered(status, reason, message string) cluster {
	paths := cluster{}
	for version := range ofGroundskeeper {
		group, number, _ := strings.Cut(version, "/")
		paths[apiServices+number+"."+group] = apiService(group, number, status, reason, message)
	}
	return paths
}

// TestRegisteredAndPending checks that an API whose server has a Pod that is Pending is not said to be missing.
func TestRegisteredAndPending(t *testing.T) {
	paths := registered("False", "MissingEndpoints", "endpoints for service/groundskeeper-apiserver have no addresses")
	paths[inSystem+"/pods"], paths[inSystem+"/events"] = pendingPod, podEvents
	t.Run("check", func(t *testing.T) {
		c, out := fakeCluster(t, paths, nil)
		if err := c.check(t.Context(), 0, ""); !errors.Is(err, errFindings) {
			t.Errorf("error = %v, want findings", err)
		}
		for _, want := range []string{"APIService v1.kubernikus.sap.cc is unavailable: MissingEndpoints: endpoints for service/groundskeeper-apiserver have no addresses",
			"1 Insufficient memory", "FailedScheduling: no memory is left"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("printed\n%s\nwant %q in it", out, want)
			}
		}
		if strings.Contains(out.String(), "not installed") {
			t.Errorf("printed\n%s\nwant no installation said to be missing", out)
		}
	})
	t.Run("status", func(t *testing.T) {
		c, _ := fakeCluster(t, paths, nil)
		_, err := c.inspect(t.Context(), "")
		if err = c.explained(t.Context(), err); err == nil || !strings.Contains(err.Error(), "MissingEndpoints") || strings.Contains(err.Error(), "not installed") {
			t.Errorf("error = %v, want the condition of the APIService", err)
		}
	})
}

// TestTerminating checks that nobody is told to restore the API server in a namespace that is being deleted.
func TestTerminating(t *testing.T) {
	paths := registered("False", "MissingEndpoints", "endpoints for service/groundskeeper-apiserver have no addresses")
	paths[inSystem] = `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "groundskeeper-system", "deletionTimestamp": "2026-11-22T12:00:00Z"},
		"status": {"phase": "Terminating", "conditions": [{"type": "NamespaceDeletionDiscoveryFailure", "status": "True", "message": "stale GroupVersion discovery: midonet.org/v1"}]}}`
	c, out := fakeCluster(t, paths, nil)
	if err := c.check(t.Context(), 0, ""); !errors.Is(err, errFindings) {
		t.Errorf("error = %v, want findings", err)
	}
	_ = c.why(t.Context(), namespaceKind(), "groundskeeper-system", "")
	const want = "namespace groundskeeper-system is being deleted, so that no API server can be started in it"
	if text := out.String(); !strings.Contains(text, "APIService v1.kubernikus.sap.cc is unavailable: "+want) ||
		!strings.Contains(text, "stale GroupVersion discovery: midonet.org/v1: "+want) || strings.Contains(text, "Restore") {
		t.Errorf("printed\n%s\nwant %q twice, and no advice to restore it", text, want)
	}
}

// TestUnauthorized checks that credentials are called invalid only if the kube-apiserver itself rejects them.
func TestUnauthorized(t *testing.T) {
	const accepted = `{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "status": {"userInfo": {"username": "olivia"}}}`
	for name, test := range map[string]struct{ review, want, never string }{
		"the front proxy is rejected": {accepted, "front proxy", "your credentials"},
		"the user is rejected":        {unauthorized, "the cluster rejects your credentials", "front proxy"},
		"the user may not review":     {forbidden, "front proxy", "your credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			paths := registered("True", "Passed", "all checks passed")
			paths["/apis/authentication.k8s.io/v1/selfsubjectreviews"] = test.review
			for version, resources := range ofGroundskeeper {
				paths["/apis/"+version+"/"+resources[0].Name], paths["/apis/"+version+"/namespaces/garden-shop/"+resources[0].Name] = unauthorized, unauthorized
			}
			c, out := fakeCluster(t, paths, ofGroundskeeper)
			if err := c.check(t.Context(), 0, ""); !errors.Is(err, errFindings) || !strings.Contains(out.String(), test.want) || strings.Contains(out.String(), test.never) {
				t.Errorf("error = %v, printed\n%s\nwant %q in it, and not %q", err, out, test.want, test.never)
			}
			r, err := c.inspect(t.Context(), "garden-shop")
			if err != nil || len(r.Checked) == 0 || !strings.Contains(r.Checked[0].Problem, test.want) {
				t.Errorf("status: %+v, %v; want the problem %q", r, err, test.want)
			}
		})
	}
}

// TestStatusOfADeadManager checks that status reports a Lease that nobody renews.
func TestStatusOfADeadManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, out := on(t, nil, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: uninstall.SystemNamespace, Name: uninstall.ManagerName,
				Annotations: map[string]string{controllerstate.Annotation: controllerstate.Encode(map[string]controllerstate.State{"kluster": {State: controllerstate.Running}})}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new("manager"), RenewTime: new(metav1.NowMicro())},
		})
		r, err := c.inspect(t.Context(), "")
		if err == nil {
			c.printReport(r)
		}
		if want := "no manager renews Lease groundskeeper-system/groundskeeper-controller-manager"; err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("error = %v, printed\n%s\nwant %q in it", err, out, want)
		}
	})
}

// runningPods are two replicas, of which the second is not ready.
const runningPods = `{"kind": "PodList", "apiVersion": "v1", "items": [
	{"metadata": {"namespace": "groundskeeper-system", "name": "one"}, "spec": {"containers": [{"name": "apiserver", "ports": [{"name": "https", "containerPort": 8443}],
		"readinessProbe": {"httpGet": {"path": "/readyz?exclude=etcd", "port": "https", "scheme": "HTTPS"}}}]}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
	{"metadata": {"namespace": "groundskeeper-system", "name": "two"}, "spec": {"containers": [{"name": "manager", "readinessProbe": {"httpGet": {"path": "/readyz", "port": 2718, "scheme": "HTTP"}}}]},
		"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "message": "containers with unready status"}]}}]}`

// TestReplicas checks that each replica is asked for its readiness, and that nothing that the user may not read is a failure.
func TestReplicas(t *testing.T) {
	const proxied = inSystem + "/pods/"
	for name, test := range map[string]struct {
		paths  cluster
		prints []string
		fails  bool
	}{
		"each check that fails": {cluster{
			inSystem + "/pods":                      runningPods,
			proxied + "https:one:8443/proxy/readyz": "500 [+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n",
			proxied + "http:two:2718/proxy/readyz":  "500 [+]API server ok\n[-]caches of kluster: waiting\nreadyz check failed\n",
		}, []string{"✗ Pod one                    /readyz: etcd failed: see its log",
			"✗ Pod two                    is not ready: containers with unready status; /readyz: caches of kluster: waiting: see its log: kubectl describe pod -n groundskeeper-system two"}, true},
		"no permission for the proxy": {cluster{
			inSystem + "/pods": strings.Replace(runningPods, "False", "True", 1), proxied + "https:one:8443/proxy/readyz": forbidden,
			proxied + "http:two:2718/proxy/readyz": "200 [+]API server ok\nreadyz check passed\n",
		}, []string{"? Pod one                    you are not allowed to get pods/proxy", "✓ Pod two                    ok"}, false},
		"no permission": {cluster{
			inSystem + "/pods": forbidden, inSystem + "/services": forbidden, inSystem + "/secrets": forbidden, "/apis/apps/v1/namespaces/groundskeeper-system/deployments": forbidden,
		}, []string{"? Deployments                you are not allowed to list Deployments in namespace groundskeeper-system", "? Pods ", "? Services ", "? Secrets "}, false},
		"a Service without endpoints": {cluster{
			inSystem + "/services": `{"kind": "ServiceList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}, "spec": {"selector": {"x": "y"}}}, {"metadata": {"name": "b"}, "spec": {"selector": {"x": "z"}}}, {"metadata": {"name": "external"}}]}`,
			"/apis/discovery.k8s.io/v1/namespaces/groundskeeper-system/endpointslices": `{"kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1", "items": [
				{"metadata": {"labels": {"kubernetes.io/service-name": "b"}}, "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}]},
				{"metadata": {"labels": {"kubernetes.io/service-name": "a"}}, "endpoints": [{"addresses": ["10.0.0.2"], "conditions": {"ready": false}}]}]}`,
		}, []string{"✗ Service a                  has no endpoint that is ready", "✓ Service b                  ok"}, true},
		"a Deployment without replicas": {cluster{
			"/apis/apps/v1/namespaces/groundskeeper-system/deployments": `{"kind": "DeploymentList", "apiVersion": "apps/v1", "items": [{"metadata": {"namespace": "groundskeeper-system", "name": "a"}, "spec": {"replicas": 0}}]}`,
		}, []string{"✗ Deployment a               has 0 replicas: kubectl scale"}, true},
		"a certificate that has expired": {cluster{
			inSystem + "/secrets": fmt.Sprintf(`{"kind": "SecretList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}, "data": {"tls.crt": %q}}]}`,
				base64.StdEncoding.EncodeToString(certificate(t, noon.Add(-48*time.Hour), noon.Add(-24*time.Hour)))),
		}, []string{"✗ Certificate a              expired on "}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := fakeCluster(t, test.paths, nil)
			r := &report.Report{}
			c.replicas(t.Context(), r)
			c.endpoints(t.Context(), r)
			c.certificates(t.Context(), r)
			c.printCheck(r)
			for _, want := range test.prints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("printed\n%s\nwant %q in it", out, want)
				}
			}
			if err := result(r); (len(r.Findings) > 0) != test.fails || test.fails != errors.Is(err, errFindings) {
				t.Errorf("error = %v, findings = %+v, want findings: %t", err, r.Findings, test.fails)
			}
		})
	}
}

// TestEveryPartIsReported checks that check and status report each part of the installation that does not work, while the API is served.
func TestEveryPartIsReported(t *testing.T) {
	paths := registered("True", "Passed", "all checks passed")
	for version, resources := range ofGroundskeeper {
		list := fmt.Sprintf(`{"kind": "%sList", "apiVersion": %q, "items": []}`, resources[0].Kind, version)
		paths["/apis/"+version+"/"+resources[0].Name] = list
	}
	paths[inSystem+"/pods"] = runningPods
	paths[inSystem+"/pods/https:one:8443/proxy/readyz"] = "500 [+]ping ok\n[-]etcd-space failed: reason withheld\nreadyz check failed\n"
	paths[inSystem+"/services"] = `{"kind": "ServiceList", "apiVersion": "v1", "items": [
		{"metadata": {"name": "a"}, "spec": {"selector": {"x": "y"}}}]}`
	paths["/apis/discovery.k8s.io/v1/namespaces/groundskeeper-system/endpointslices"] =
		`{"kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1", "items": []}`
	expired := certificate(t, noon.Add(-48*time.Hour), noon.Add(-24*time.Hour))
	paths[inSystem+"/secrets"] = fmt.Sprintf(`{"kind": "SecretList", "apiVersion": "v1", "items": [
		{"metadata": {"name": "b"}, "data": {"tls.crt": %q}}]}`, base64.StdEncoding.EncodeToString(expired))
	for name, run := range map[string]func(*command) error{
		"check":  func(c *command) error { return c.check(t.Context(), 0, "") },
		"status": func(c *command) error { return c.status(t.Context(), false, "") },
	} {
		t.Run(name, func(t *testing.T) {
			c, out := fakeCluster(t, paths, ofGroundskeeper)
			if err := run(c); err == nil {
				t.Error("no error, want that there are findings")
			}
			for _, want := range []string{"etcd-space failed", "has no endpoint that is ready", "expired on", "controller manager"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("printed\n%s\nwant %q in it", out, want)
				}
			}
		})
	}
}

// certificate returns a self-signed one in PEM.
func certificate(t *testing.T, begin, end time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: begin, NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCertificateProblem(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		begin, end time.Duration
		want       string
	}{
		"new":              {0, 90 * day, ""},
		"before renewal":   {-60 * day, 30 * day, ""},
		"not renewed":      {-85 * day, 5 * day, "and was not renewed"},
		"valid for a day":  {-12 * time.Hour, 12 * time.Hour, ""},
		"expired":          {-90 * day, -time.Second, "expired on "},
		"of another clock": {time.Hour, 90 * day, "compare the clocks"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := certificateProblem(certificate(t, noon.Add(test.begin), noon.Add(test.end)), noon); (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("problem = %q, want %q", got, test.want)
			}
		})
	}
	if got := certificateProblem([]byte("x"), noon); !strings.Contains(got, "no certificate") {
		t.Errorf("problem = %q, want that there is none", got)
	}
}

func TestUnavailableReason(t *testing.T) {
	for name, test := range map[string]struct{ status, reason, message, want string }{
		"available":             {"True", "Passed", "all checks passed", ""},
		"no Service":            {"False", "ServiceNotFound", "no service", "ServiceNotFound: no service: apply the manifests"},
		"no endpoints":          {"False", "MissingEndpoints", "none.", "MissingEndpoints: none: no pod of groundskeeper-apiserver is ready"},
		"another CA":            {"False", "FailedDiscoveryCheck", "Get: x509: unknown authority", "the caBundle does not match"},
		"another front proxy":   {"False", "FailedDiscoveryCheck", "bad status from https://10.0.0.1: 401", "front proxy"},
		"no response":           {"False", "FailedDiscoveryCheck", "deadline exceeded", "kubectl logs"},
		"not checked until now": {"Unknown", "", "", "is unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			service := &unstructured.Unstructured{}
			if err := json.Unmarshal([]byte(apiService("kubernikus.sap.cc", "v1", test.status, test.reason, test.message)), service); err != nil {
				t.Fatal(err)
			}
			if got := unavailableReason(service); (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("reason = %q, want %q", got, test.want)
			}
			unstructured.RemoveNestedField(service.Object, "spec", "service")
			if got := unavailableReason(service); got != "" {
				t.Errorf("reason of the APIService of a CustomResourceDefinition = %q, want none", got)
			}
		})
	}
}
