// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// TestOVN starts a plane with OVN, has Pods send packets through it where root is had, kills it, and starts a plane without it.
func TestOVN(t *testing.T) {
	if _, err := os.Stat(ovnserver.NewInstallation("").Schema("nb")); err != nil {
		t.Skip("OVN is not installed: make test-ovn unpacks it")
	}
	for _, name := range []string{apiserverName, managerName, ovnName} {
		binary(t, name)
	}
	options := Options{Dir: t.TempDir(), APIServers: 1, Managers: 1, OVN: true}
	p := controlPlane(t, options)
	if !slices.Contains(p.Processes(), p.OVN) {
		t.Error("OVN is none of the processes")
	}
	n := &ovnPlane{Plane: p, permitted: ovnserver.ChassisPermitted(t.Context()) == nil}
	n.kubectl(t, "create", "-f", "../../artifacts/examples/ovn/pods.yaml")
	service, err := client(t, p).CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.address = service.Spec.ClusterIP

	t.Run("configuration", func(t *testing.T) {
		path, err := p.managerConfig()
		if err != nil {
			t.Fatal(err)
		}
		var config v1alpha1.ControllerManagerConfiguration
		if err := yaml.UnmarshalStrict([]byte(read(t, path)), &config); err != nil {
			t.Fatal(err)
		}
		got := config.Controllers.Translation.OVN
		want := []string{"unix:" + p.OVNDirectory() + "/nb.sock", "unix:" + p.OVNDirectory() + "/sb.sock"}
		if !slices.Equal(append(got.Endpoints, got.SouthboundEndpoints...), want) {
			t.Errorf("the manager is led to %v, %v, want %v", got.Endpoints, got.SouthboundEndpoints, want)
		}
	})
	t.Run("status", func(t *testing.T) {
		all, err := Inspect(t.Context(), p.Dir())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(all, func(s Status) bool { return s.Name == ovnName && s.Page == p.OVNPage() && s.Err == nil }) {
			t.Errorf("OVN is not shown as ready with its page: %v", all)
		}
	})
	t.Run("serves", func(t *testing.T) { n.serves(t) })
	t.Run("leaves nothing behind", func(t *testing.T) {
		children := childrenOf(t, p.OVN.PID())
		if len(children) < 3 {
			t.Errorf("OVN has the children %v, want its servers", children)
		}
		if err := p.OVN.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			for pid, name := range children {
				if stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z ") && strings.Contains(string(stat), name) {
					return fmt.Errorf("%s (pid %s) still runs", name, pid)
				}
			}
			return nil
		})
	})
	t.Run("comes back", func(t *testing.T) {
		before := p.Managers[0].PID()
		again := controlPlane(t, options)
		if again.OVN.PID() == 0 || again.OVNPage() != p.OVNPage() || again.Managers[0].PID() != before {
			t.Errorf("OVN has pid %d and the page %s, had %s; the manager has pid %d, had %d", again.OVN.PID(), again.OVNPage(), p.OVNPage(), again.Managers[0].PID(), before)
		}
		n.serves(t)

		// It ends with any of its servers.
		for pid, name := range childrenOf(t, again.OVN.PID()) {
			if name != "(ovn-northd)" {
				continue
			}
			if err := exec.CommandContext(t.Context(), "kill", "-9", pid).Run(); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, func() error {
			if again.OVN.PID() != 0 {
				return errors.New("OVN runs without ovn-northd")
			}
			return nil
		})
		if log := read(t, logFile(p.Dir(), ovnName)); !strings.Contains(log, "ovn-northd (pid ") {
			t.Errorf("the log does not name the server that ended: %s", log)
		}
	})
	t.Run("goes", func(t *testing.T) {
		options.OVN = false
		without := controlPlane(t, options)
		if without.OVN != nil || without.state.running(ovnName) {
			t.Error("OVN still runs")
		}
		if args := strings.Join(without.Managers[0].args, " "); strings.Contains(args, "--config=") {
			t.Errorf("the manager runs with %s", args)
		}
	})
}

// ovnPlane is a plane with OVN and the Pods of the example.
type ovnPlane struct {
	*Plane
	// permitted is whether there are packets, and address that of the Service.
	permitted bool
	address   string
}

func (n *ovnPlane) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary(t, "kubectl"), append([]string{"--kubeconfig=" + n.AdminKubeconfig()}, args...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, output)
	}
	return string(output)
}

// serves checks that the Service has both endpoints, for packets too if there are any, until a NetworkPolicy excludes the client.
func (n *ovnPlane) serves(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		output, err := exec.CommandContext(t.Context(), filepath.Join(n.OVNDirectory(), "bin", "ovn-nbctl"), "lb-list").CombinedOutput()
		if text := string(output); err != nil || !strings.Contains(text, "10.1.0.10:8080") && !strings.Contains(text, "10.1.0.11:8080") || !strings.Contains(text, "10.1.1.10:8080") {
			return fmt.Errorf("load balancers: %w: %s", err, text)
		}
		return nil
	})
	if !n.permitted {
		if _, err := os.Stat(filepath.Join(n.OVNDirectory(), "pods")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there are namespaces without root: %v", err)
		}
		return
	}
	got := map[string]bool{}
	eventually(t, func() error {
		name, err := n.get(t, "pods/default/client")
		if got[name] = true; err != nil || !got["web-0"] || !got["web-1"] {
			return fmt.Errorf("%v respond, want web-0 and web-1: %w", got, err)
		}
		return nil
	})
	eventually(t, func() error {
		_, err := n.get(t, "nodes/node-b")
		return err
	})
	n.kubectl(t, "create", "-f", "../../artifacts/examples/ovn/networkpolicy.yaml")
	eventually(t, func() error {
		if name, err := n.get(t, "pods/default/client"); err == nil {
			return fmt.Errorf("%s responds to a Pod that the policy excludes", name)
		}
		return nil
	})
	eventually(t, func() error {
		_, err := n.get(t, "pods/default/web-1")
		return err
	})
	n.kubectl(t, "delete", "-f", "../../artifacts/examples/ovn/networkpolicy.yaml")
}

// get requests the page of the Service in a namespace of OVN.
func (n *ovnPlane) get(t *testing.T, in string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, "nsenter", "--net="+filepath.Join(n.OVNDirectory(), in), os.Args[0], "http://"+n.address)
	command.Env = append(os.Environ(), roleVariable+"=get")
	output, err := command.Output()
	return strings.TrimSpace(string(output)), err
}

// childrenOf returns the names of the children of a process, by their ids.
func childrenOf(t *testing.T, parent int) map[string]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := map[string]string{}
	for _, file := range files {
		content, _ := os.ReadFile(file) // a process may end meanwhile
		fields := strings.Fields(string(content))
		if len(fields) > 3 && fields[3] == strconv.Itoa(parent) {
			children[fields[0]] = fields[1]
		}
	}
	return children
}

// eventually waits until there is no error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	var last error
	if err := wait.PollUntilContextTimeout(t.Context(), pollInterval, 2*time.Minute, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	}); err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}
