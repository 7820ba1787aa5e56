// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"groundskeeper.io/groundskeeper/pkg/plugin"
	"groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/standin"
)

const (
	// cloudUser is the user, and the project, of both workload clusters in OpenStack.
	cloudUser = "demo"
	// routeKinds and clusterAPI are definitions of kinds of other projects.
	routeKinds = "test/integration/testdata/crds/contour.yaml"
	clusterAPI = "test/integration/testdata/cluster-api-v1beta2.yaml"
)

// workloadControllers are those of Kubernetes that volumes and StatefulSets need.
var workloadControllers = []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller",
	"persistentvolume-protection-controller", "statefulset-controller", "validatingadmissionpolicy-status-controller"}

// stage is all that runs: the management cluster, two workload clusters, a fake of OpenStack, and stand-ins for the cloud controllers
// and CSI drivers of the workload clusters.
type stage struct {
	dir, bin            string // as absolute paths
	progress            io.Writer
	management, web, eu *plane.Plane
	standins            []*standin.Standin
	// cloud is where the fake of OpenStack serves, as host:port.
	cloud, password string
	// ovn is nil unless there is an act for it.
	ovn *ovn
	// background has the console and the kubelets of the discoverers. They end with the context of the acts.
	background sync.WaitGroup
}

func newStage(progress io.Writer, withOVN bool) (*stage, error) {
	s := &stage{progress: progress, password: rand.Text()}
	var err, other error
	s.dir, err = filepath.Abs(dir)
	s.bin, other = filepath.Abs(bin)
	if err = errors.Join(err, other); err == nil && withOVN {
		s.ovn, err = newOVN(s.path("ovn"))
	}
	return s, err
}

// start starts everything. What it has started when it fails, close stops.
func (s *stage) start(ctx context.Context) error {
	if err := s.planes(ctx); err != nil {
		return err
	}
	if err := s.contexts(); err != nil {
		return err
	}
	if err := s.openstack(ctx); err != nil {
		return err
	}
	for _, command := range []string{
		"apply --server-side -f " + routeKinds, "apply -f " + clusterAPI, "wait --for=condition=Established crd --all --timeout=60s",
		"apply -k artifacts/kluster", "apply -k artifacts/capi", "apply -k artifacts/discovery", "apply -k artifacts/membership",
		"--context web apply -k artifacts/kluster/workload", "--context eu apply -k artifacts/discovery/backend",
		"--context web create namespace garden-shop", "--context eu create namespace garden-shop",
	} {
		if err := s.kubectl(ctx, strings.Fields(command)...); err != nil {
			return err
		}
	}
	// A controller manager that was denied permissions waits until it asks again.
	if err := s.configure(ctx, "manager.yaml"); err != nil {
		return err
	}
	return s.clouds(ctx)
}

// planes starts the control planes, from nothing, at the same time.
func (s *stage) planes(ctx context.Context) error {
	var lock sync.Mutex
	progress := func(cluster string) func(string) {
		return func(line string) {
			lock.Lock()
			defer lock.Unlock()
			_, _ = fmt.Fprintf(s.progress, "%-10s  %s\n", cluster, line)
		}
	}
	var started sync.WaitGroup
	var failures [3]error
	for i, p := range []struct {
		name    string
		plane   **plane.Plane
		options plane.Options
	}{
		{"management", &s.management, plane.Options{APIServers: 1, Managers: 1, SharedEtcd: true, Webhooks: true,
			ManagerConfig: manifest("manager.yaml"), APIServerFlags: []string{"--project-authorization=membership"}}},
		{"web", &s.web, plane.Options{KubeControllers: workloadControllers}},
		{"eu", &s.eu, plane.Options{KubeControllers: workloadControllers}},
	} {
		started.Go(func() {
			p.options.Dir, p.options.BinDir, p.options.UnsafeNoFsync = s.path(p.name), s.bin, true
			p.options.Progress = progress(p.name)
			if failures[i] = plane.Remove(ctx, p.options.Dir, progress(p.name)); failures[i] == nil {
				*p.plane, failures[i] = plane.Start(ctx, p.options)
			}
		})
	}
	started.Wait()
	return errors.Join(failures[:]...)
}

// contexts writes the kubeconfig of the commands: each cluster is a context, the management cluster the current one. The namespace of the
// Project is the default in all of them.
func (s *stage) contexts() error {
	config := api.NewConfig()
	config.CurrentContext = "management"
	for name, p := range map[string]*plane.Plane{"management": s.management, "web": s.web, "eu": s.eu} {
		admin := p.Config()
		config.Clusters[name] = &api.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
		config.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: admin.CertData, ClientKeyData: admin.KeyData}
		config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name, Namespace: "garden-shop"}
	}
	return clientcmd.WriteToFile(*config, s.path("kubeconfig"))
}

// kubeconfig writes one with the identity of a ServiceAccount of a cluster.
func kubeconfig(p *plane.Plane, path, namespace, account string) error {
	user := "system:serviceaccount:" + namespace + ":" + account
	return p.KubeconfigFor(path, user, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

// openstack starts the fake of OpenStack.
func (s *stage) openstack(ctx context.Context) error {
	file := s.path("openstack-password")
	if err := os.WriteFile(file, []byte(s.password), 0o600); err != nil {
		return err
	}
	var err error
	if s.cloud, err = freeAddress(); err != nil {
		return err
	}
	_, err = s.management.Run(ctx, plane.Program{
		Name: "fake-openstack", Binary: "fake-openstack", Inputs: []string{file}, Address: s.cloud, Health: openstack.PagesRoot,
		Args: []string{"--address=" + s.cloud, "--user=" + cloudUser, "--project=" + cloudUser, "--password-file=" + file,
			"--servers=10.0.0.5,10.0.0.6,10.0.0.7"},
	})
	return err
}

// clouds starts a cloud controller and a CSI driver for each workload cluster. The names of the clusters begin alike.
func (s *stage) clouds(ctx context.Context) error {
	subnet, err := s.item(ctx, "subnet", "10.0.0.0/24")
	if err != nil {
		return err
	}
	external, err := s.item(ctx, "external network", "")
	if err != nil {
		return err
	}
	for name, p := range map[string]*plane.Plane{"web": s.web, "web-2": s.eu} {
		client, err := kubernetes.NewForConfig(p.Config())
		if err != nil {
			return err
		}
		started, err := standin.Start(ctx, standin.Config{
			Kubernetes: client, Cloud: standin.Credentials{AuthURL: s.authURL(), User: cloudUser, Password: s.password, Project: cloudUser},
			ClusterName: name, ClusterID: name, SubnetID: subnet, FloatingNetworkID: external,
		})
		if err != nil {
			return err
		}
		s.standins = append(s.standins, started)
	}
	return nil
}

// item returns the id of what OpenStack has of a kind, with a detail.
func (s *stage) item(ctx context.Context, kind, detail string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.cloud+openstack.PagesRoot+"content", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	var all []openstack.Item
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		return "", err
	}
	for _, i := range all {
		if i.Kind == kind && strings.Contains(i.Detail, detail) {
			return i.ID, nil
		}
	}
	return "", fmt.Errorf("the fake of OpenStack has no %s %s", kind, detail)
}

func (s *stage) authURL() string { return "http://" + s.cloud + "/identity/v3" }

// configure restarts the controller manager with a configuration.
func (s *stage) configure(ctx context.Context, file string) error {
	path, err := filepath.Abs(manifest(file))
	if err != nil {
		return err
	}
	return s.management.Managers[0].Restart(ctx, "--config="+path)
}

// reschedule does what a scheduler does when the claim of the pod db-0 was deleted: the pod changes, so that the StatefulSet checks it.
func (s *stage) reschedule(ctx context.Context) error {
	web := []string{"--context", "web", "-n", "garden-shop"}
	return errors.Join(
		until(ctx, s.lacks("disk-a", append(web, "get", "pvc", "data-db-0", "--ignore-not-found", "-o", "jsonpath={.spec.volumeName}")...)),
		s.kubectl(ctx, append(web, "delete", "pod", "db-0", "--ignore-not-found")...))
}

// console serves the page of "kubectl groundskeeper console" in this process, and returns its URL.
func (s *stage) console(ctx context.Context) (string, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer reader.Close() //nolint:errcheck // it is only read
	command := plugin.New(os.Stdin, writer)
	command.SetArgs([]string{"console", "--kubeconfig=" + s.path("kubeconfig")})
	var failed error
	s.background.Go(func() {
		failed = command.ExecuteContext(ctx)
		_ = writer.Close() // the reader below learns of it
	})
	url, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the console has ended: %w", errors.Join(err, failed))
	}
	return strings.TrimSpace(url), nil
}

// close stops everything, after the context of the acts has ended, and returns what there is to report of how they ended. The files are
// kept when something failed, because of the logs.
func (s *stage) close(ctx context.Context, interrupted bool, ended error) error {
	s.background.Wait()
	for _, standin := range s.standins {
		standin.Stop()
	}
	var failures []error
	for _, p := range []*plane.Plane{s.management, s.web, s.eu} {
		if p != nil {
			failures = append(failures, p.Stop(ctx))
		}
	}
	if interrupted && ended != nil {
		ended = errInterrupted // what it was in the middle of has failed, in whatever way
	}
	if err := errors.Join(failures...); err != nil || ended != nil && !interrupted {
		return fmt.Errorf("%w\nThe logs are in %s/*/logs", errors.Join(ended, err), s.dir)
	}
	return errors.Join(ended, os.RemoveAll(s.dir))
}

// environment is that of all commands.
func (s *stage) environment() []string {
	all := append(os.Environ(), "KUBECONFIG="+s.path("kubeconfig"), "PATH="+s.programs()+":"+os.Getenv("PATH"), "KUBECACHEDIR="+s.path("cache"),
		"DEMO="+s.dir, "OPENSTACK=http://"+s.cloud)
	if s.ovn != nil {
		all = append(all, s.ovn.variables()...)
	}
	return all
}

// exports is the same for a user's shell.
func (s *stage) exports() string {
	all := fmt.Sprintf("export KUBECONFIG=%q PATH=%q:$PATH DEMO=%q OPENSTACK=http://%s", s.path("kubeconfig"), s.programs(), s.dir, s.cloud)
	if s.ovn != nil {
		all += " " + strings.Join(s.ovn.variables(), " ")
	}
	return all
}

// programs are the directories of the programs that commands use.
func (s *stage) programs() string {
	if s.ovn == nil {
		return s.bin
	}
	return s.bin + ":" + filepath.Dir(s.ovn.Program("ovn-nbctl"))
}

// kubectl runs kubectl, unseen.
func (s *stage) kubectl(ctx context.Context, args ...string) error {
	_, err := s.output(ctx, args...)
	return err
}

// output returns what kubectl writes.
func (s *stage) output(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, s.management.Kubectl(), args...)
	command.Env = s.environment()
	output, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return string(output), nil
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// manifest returns the path of a manifest of the demonstration.
func manifest(name string) string { return filepath.Join("hack", "demo", "manifests", name) }

// freeAddress returns an address of loopback that no program listens on.
func freeAddress() (string, error) {
	port, err := plane.FreePort()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}
