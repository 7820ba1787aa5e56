// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	cloudUser     = "gimbal"
	cloudPassword = "hunter2-hunter2"
)

// newOpenStackClusters returns a cluster that discovers; its backends are clouds, one for each test.
func newOpenStackClusters(t *testing.T) *clusters {
	t.Helper()
	dir := t.TempDir()
	d := &clusters{audit: filepath.Join(dir, "audit.log")}
	var err error
	d.here, err = startAudited(t.Context(), t, plane.Options{
		Dir: filepath.Join(dir, "here"), APIServers: 1, SharedEtcd: true, UnsafeNoFsync: true,
		KubeAPIServerFlags: []string{"--audit-policy-file=" + write(t, discovererPolicy), "--audit-log-path=" + d.audit},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.here.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	d.c = clientOf(t, d.here.Config())
	apply := exec.CommandContext(t.Context(), d.here.Kubectl(), "--kubeconfig", d.here.AdminKubeconfig(), "apply", "-f", "../../artifacts/discovery/discoverer.yaml")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return d
}

// clouded is a backend of one test: a cloud with one project, whose namespace is here, and its DiscoveryBackend.
type clouded struct {
	*discovered
	cloud *fake.Server
}

func (d *clusters) discoverCloud(t *testing.T, confined bool) *clouded {
	t.Helper()
	v := &discovered{clusters: d, t: t, ns: name(t, "shop"), admin: discoveryNamespace}
	if confined {
		v.admin = v.ns
	}
	v.makeNamespace(d.c, v.ns)
	return v.inCloud()
}

// inCloud returns a backend of a new cloud, with a project that has the name of the namespace.
func (v *discovered) inCloud() *clouded {
	t := v.t
	t.Helper()
	v = v.asBackend("os", gimbalv1.BackendOpenStack)
	cloud := fake.New(fake.Options{})
	t.Cleanup(cloud.Close)
	cloud.AddUser(cloudUser, cloudPassword, v.ns)
	return &clouded{v, cloud}
}

// run starts a discoverer with a password.
func (v *clouded) run(password string, flags ...string) *cleaner {
	v.t.Helper()
	kubeconfig := filepath.Join(v.t.TempDir(), "kubeconfig")
	if err := v.here.KubeconfigFor(kubeconfig, v.user(discoverer), "system:serviceaccounts", "system:serviceaccounts:"+v.admin); err != nil {
		v.t.Fatal(err)
	}
	address := "127.0.0.1:" + freePort(v.t)
	args := append([]string{"openstack", "--gimbal-kubecfg-file=" + kubeconfig, "--backend-name=" + v.name, "--backend-namespace=" + v.admin,
		"--prometheus-listen-address=" + address, "--reconciliation-period=1s", "--http-client-timeout=5s", "--allow-plain-http"}, flags...)
	ctx, cancel := context.WithCancel(v.t.Context())
	c := &child{cmd: exec.CommandContext(ctx, filepath.Join(filepath.Dir(v.here.Kubectl()), discoverer), args...), stderr: &output{}, ended: make(chan error, 1)}
	c.cmd.Stderr = c.stderr
	c.cmd.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST=", "OS_AUTH_URL="+v.cloud.AuthURL(), "OS_USERNAME="+cloudUser, "OS_PASSWORD="+password, "OS_TENANT_NAME="+v.ns)
	if err := c.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); c.ended <- c.cmd.Wait() }()
	v.t.Cleanup(func() {
		cancel()
		<-done
		if v.t.Failed() {
			v.t.Log("the discoverer's log:\n" + strings.Join(c.stderr.lines(), "\n"))
		}
	})
	return &cleaner{child: c, t: v.t, address: address}
}

// balancer makes a load balancer with a listener of port 80 and these members, and returns its id and that of its pool.
func (v *clouded) balancer(project string, addresses ...string) (id, pool string) {
	id = v.cloud.AddLoadBalancer(project, fake.LoadBalancer{Name: "web"})
	listener := v.cloud.AddListener(id, fake.Listener{Protocol: "HTTP", Port: 80})
	pool = v.cloud.AddPool(id, fake.Pool{Protocol: "HTTP"}, listener)
	for _, address := range addresses {
		v.cloud.AddMember(pool, fake.Member{Address: address, Port: 8080, Weight: 1})
	}
	return id, pool
}

// has waits until a namespace has these copies, "id address address", where an address with a ! is not ready.
func (v *clouded) has(namespace string, want ...string) {
	v.t.Helper()
	want = slices.Sorted(slices.Values(want)) // a copy, because the caller may change it
	finally(v.t, func(ctx context.Context) error {
		services, parts := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
		own := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{gimbalv1.LabelBackend: v.name}}
		if err := errors.Join(v.c.List(ctx, services, own...), v.c.List(ctx, parts, own...)); err != nil {
			return err
		}
		// The Service of a copy is deleted first, and its slices with separate requests.
		for _, part := range parts.Items {
			owner := part.Labels[discoveryv1.LabelServiceName]
			if !slices.ContainsFunc(services.Items, func(service corev1.Service) bool { return service.Name == owner }) {
				return fmt.Errorf("EndpointSlice %s has no Service %q", part.Name, owner)
			}
		}
		got := []string{}
		for _, service := range services.Items {
			id := service.Labels[gimbalv1.LabelLoadBalancerID]
			if service.Name != v.name+"-"+id || service.Labels[gimbalv1.LabelLoadBalancerName] != "web" || service.Labels[gimbalv1.LabelService] != id {
				return fmt.Errorf("service %s has labels %v", service.Name, service.Labels)
			}
			addresses := []string{}
			for _, part := range parts.Items {
				if part.Labels[discoveryv1.LabelServiceName] != service.Name {
					continue
				}
				for _, e := range part.Endpoints {
					address := e.Addresses[0]
					if !*e.Conditions.Ready {
						address += "!"
					}
					addresses = append(addresses, address)
				}
			}
			slices.Sort(addresses)
			got = append(got, strings.TrimSpace(id+" "+strings.Join(addresses, " ")))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("copies %q, want %q", got, want)
		}
		return nil
	})
}

// ready waits until a discoverer is.
func (v *clouded) ready(c *cleaner) {
	v.t.Helper()
	finally(v.t, func(context.Context) error { _, err := c.read("/readyz"); return err })
}

// Waits until the cloud was listed some more times.
func (v *clouded) requested(times int) {
	v.t.Helper()
	v.cloud.Requests()
	seen := 0
	finally(v.t, func(context.Context) error {
		for _, r := range v.cloud.Requests() {
			if strings.HasSuffix(r.Path, "/auth/projects") || strings.HasSuffix(r.Path, "/auth/tokens") {
				seen++
			}
		}
		if seen < times {
			return fmt.Errorf("listed %d times", seen)
		}
		return nil
	})
}

// unchanged complains when copies were written since they were read.
func (v *clouded) unchanged(what string, before map[string]string) {
	v.t.Helper()
	if err := diffError(before, v.versions()); err != nil {
		v.t.Errorf("%s: %v", what, err)
	}
}
