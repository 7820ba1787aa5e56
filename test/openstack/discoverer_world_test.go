// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	discoverer    = "groundskeeper-discoverer"
	backendName   = "os"
	backendHome   = "gimbal-discovery"
	octaviaMember = "load-balancer_member"
)

// discovered is a cluster whose services come from the testbed.
type discovered struct {
	*testing.T
	plane *plane.Plane
	c     client.Client
}

func newDiscovered(t *testing.T) *discovered {
	t.Helper()
	started, err := plane.Start(t.Context(), plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 1, SharedEtcd: true, UnsafeNoFsync: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(scheme.AddToScheme(s))
	c, err := client.New(started.Config(), client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	d := &discovered{T: t, plane: started, c: c}
	// The plane has the namespace of backends when it has Groundskeeper's artifacts.
	_ = c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: backendHome}})
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: backendHome, Name: backendName}}
	backend.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendOpenStack, Secret: "os"}
	d.create(backend)
	return d
}

func (d *discovered) create(objects ...client.Object) {
	d.Helper()
	for _, object := range objects {
		if err := d.c.Create(d.Context(), object); err != nil {
			d.Fatal(err)
		}
	}
}

func (d *discovered) namespaces(names ...string) {
	d.Helper()
	for _, name := range names {
		d.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
}

// process is a discoverer that runs.
type process struct {
	cmd     *exec.Cmd
	address string
	ended   func() error
	mu      sync.Mutex
	log     bytes.Buffer
}

// Write implements io.Writer.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// environment returns the variables of a user.
func (a *api) environment() []string {
	return []string{"OS_AUTH_URL=" + a.authURL, "OS_USERNAME=" + a.user, "OS_PASSWORD=" + a.password, "OS_TENANT_NAME=" + a.project, "OS_REGION_NAME=RegionOne"}
}

// discover starts a discoverer with the variables and flags.
func (d *discovered) discover(environment []string, flags ...string) *process {
	d.Helper()
	listener, err := (&net.ListenConfig{}).Listen(d.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		d.Fatal(err)
	}
	p := &process{address: listener.Addr().String()}
	_ = listener.Close()
	args := append([]string{"openstack", "--gimbal-kubecfg-file=" + d.plane.AdminKubeconfig(), "--backend-name=" + backendName, "--backend-namespace=" + backendHome,
		"--prometheus-listen-address=" + p.address, "--reconciliation-period=1s", "--http-client-timeout=10s", "--allow-plain-http"}, flags...)
	p.cmd = exec.CommandContext(d.Context(), filepath.Join(filepath.Dir(d.plane.Kubectl()), discoverer), args...)
	p.cmd.Env = slices.Concat(environment, []string{"KUBERNETES_SERVICE_HOST=", "PATH=" + os.Getenv("PATH")})
	p.cmd.Stderr = p
	if err := p.cmd.Start(); err != nil {
		d.Fatal(err)
	}
	p.ended = sync.OnceValue(p.cmd.Wait)
	d.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.ended()
		if d.Failed() {
			d.Logf("the discoverer's log:\n%s", p.text())
		}
	})
	return p
}

// stop ends a discoverer as a rollout does.
func (d *discovered) stop(p *process) {
	d.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		d.Fatal(err)
	}
	if err := p.ended(); err != nil {
		d.Fatalf("%v\n%s", err, p.text())
	}
}

// page reads a page of a discoverer.
func (p *process) page(path string) (string, error) {
	response, err := http.Get("http://" + p.address + path)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, response.StatusCode, text)
	}
	return string(text), err
}

// within waits until a condition holds, and reports its last failure when it does not.
func (d *discovered) within(what string, condition func() error) {
	d.Helper()
	err := errors.New("not tried")
	defer func() {
		if err != nil {
			d.Logf("%s: %v", what, err)
		}
	}()
	eventually(d.T, what, func() bool { err = condition(); return err == nil })
}

// wants waits until a namespace has these copies, each "load balancer: port=endpoint state, ...".
func (d *discovered) wants(what, namespace string, want ...string) {
	d.Helper()
	want = slices.Sorted(slices.Values(want))
	d.within(what, func() error {
		got, err := d.copies(namespace)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("copies %q, want %q", got, want)
		}
		return err
	})
}

func (d *discovered) copies(namespace string) ([]string, error) {
	services, parts := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	own := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{gimbalv1.LabelBackend: backendName}}
	if err := errors.Join(d.c.List(d.Context(), services, own...), d.c.List(d.Context(), parts, own...)); err != nil {
		return nil, err
	}
	var copies []string
	for _, service := range services.Items {
		id := service.Labels[gimbalv1.LabelLoadBalancerID]
		if service.Name != backendName+"-"+id || service.Spec.ClusterIP != corev1.ClusterIPNone {
			return nil, fmt.Errorf("service %s, cluster IP %s, is of load balancer %s", service.Name, service.Spec.ClusterIP, id)
		}
		lines := []string{}
		for _, port := range service.Spec.Ports {
			lines = append(lines, fmt.Sprintf("%s %d/%s", port.Name, port.Port, port.Protocol))
		}
		for _, part := range parts.Items {
			if part.Labels[discoveryv1.LabelServiceName] != service.Name {
				continue
			}
			for _, e := range part.Endpoints {
				state := "down"
				switch c := e.Conditions; {
				case *c.Ready:
					state = "ready"
				case *c.Serving:
					state = "draining"
				}
				lines = append(lines, fmt.Sprintf("%s=%s %s", *part.Ports[0].Name, net.JoinHostPort(e.Addresses[0], fmt.Sprint(*part.Ports[0].Port)), state))
			}
		}
		slices.Sort(lines)
		copies = append(copies, id+" "+service.Labels[gimbalv1.LabelLoadBalancerName]+": "+strings.Join(lines, ", "))
	}
	slices.Sort(copies)
	return copies, nil
}

// reports waits until the status of the backend has these errors, "Type: text".
func (d *discovered) reports(what string, want ...string) {
	d.Helper()
	d.within(what, func() error {
		backend := &gimbalv1.DiscoveryBackend{}
		if err := d.c.Get(d.Context(), client.ObjectKey{Namespace: backendHome, Name: backendName}, backend); err != nil {
			return err
		}
		for _, text := range want {
			kind, message, _ := strings.Cut(text, ": ")
			if !slices.ContainsFunc(backend.Status.Errors, func(e gimbalv1.DiscoveryError) bool { return e.Type == kind && strings.Contains(e.Message, message) }) {
				return fmt.Errorf("errors %+v, want %q", backend.Status.Errors, want)
			}
		}
		if len(backend.Status.Errors) != len(want) {
			return fmt.Errorf("errors %+v, want %q", backend.Status.Errors, want)
		}
		return nil
	})
}

// versions returns the resource versions of all copies.
func (d *discovered) versions(namespace string) string {
	d.Helper()
	services, parts := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	if err := errors.Join(d.c.List(d.Context(), services, client.InNamespace(namespace)), d.c.List(d.Context(), parts, client.InNamespace(namespace))); err != nil {
		d.Fatal(err)
	}
	var all []string
	for _, s := range services.Items {
		all = append(all, s.Name+"@"+s.ResourceVersion)
	}
	for _, p := range parts.Items {
		all = append(all, p.Name+"@"+p.ResourceVersion)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
