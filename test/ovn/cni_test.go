// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// plugin is the CNI plugin of artifacts/examples/ovn-cni, with an IPAM plugin for each Pod.
type plugin struct {
	t         *testing.T
	directory string
}

func buildPlugin(t *testing.T) plugin {
	t.Helper()
	p := plugin{t, t.TempDir()}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(p.directory, "ovn-cni"), "../../artifacts/examples/ovn-cni")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return p
}

// assigns has an IPAM plugin assign the addresses of a Pod, and record what it is called for.
func (p plugin) assigns(pod *corev1.Pod) {
	p.t.Helper()
	var ips []string
	for i, gateway := range []string{"10.1.%s.1", "fd01:0:0:%s::1"} {
		number := strings.Split(pod.Status.PodIP, ".")[2]
		ips = append(ips, fmt.Sprintf(`{"address":"%s/%d","gateway":"%s"}`, pod.Status.PodIPs[i].IP, []int{24, 64}[i], fmt.Sprintf(gateway, number)))
	}
	script := fmt.Sprintf("#!/bin/sh\ncat >/dev/null\necho $CNI_COMMAND >>%s.log\n[ $CNI_COMMAND != ADD ] || echo '{\"ips\":[%s]}'\n", filepath.Join(p.directory, pod.Name), strings.Join(ips, ","))
	if err := os.WriteFile(filepath.Join(p.directory, "ipam-"+pod.Name), []byte(script), 0o700); err != nil { //nolint:gosec // it is executed
		p.t.Fatal(err)
	}
}

// call calls the plugin for a Pod as a runtime does.
func (p plugin) call(on *ovnserver.Chassis, command string, pod *corev1.Pod, namespace string) (string, error) {
	p.t.Helper()
	called := on.Command(p.t.Context(), p.t, filepath.Join(p.directory, "ovn-cni"))
	called.Env = append(called.Env, "CNI_COMMAND="+command, "CNI_CONTAINERID="+pod.Name+"-sandbox", "CNI_NETNS="+namespace, "CNI_IFNAME=eth0", "CNI_PATH="+p.directory,
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE="+pod.Namespace+";K8S_POD_NAME="+pod.Name)
	called.Stdin = strings.NewReader(fmt.Sprintf(`{"cniVersion":"1.0.0","name":"ovn","type":"ovn-cni","database":%q,"ipam":{"type":"ipam-%s"}}`, on.Database(), pod.Name))
	output, err := called.CombinedOutput()
	return string(output), err
}

// TestCNIPlugin has Pods that the example of a CNI plugin connects to chassis connect to each other, and disconnects them.
func TestCNIPlugin(t *testing.T) {
	w := newWorld(t)
	chassis := w.server.StartChassis(t, [2]string{"node-a", "node-b"})
	p := buildPlugin(t)
	client, web := pod("client", "node-a", "0", "99"), pod("web", "node-b", "1", "11")
	objects := cluster{nodes: []*corev1.Node{node("node-a", "0"), node("node-b", "1")}, pods: []*corev1.Pod{client, web}}
	var guests []guest
	for i, pod := range objects.pods {
		p.assigns(pod)
		behind := ovnserver.Namespace(t)
		output, err := p.call(chassis[i], "ADD", pod, behind.Path())
		if err != nil || !strings.Contains(output, pod.Status.PodIP) || !strings.Contains(output, `"mac":"0a:58:0a:01:`) {
			t.Fatalf("ADD of %s: %s, %v", pod.Name, output, err)
		}
		guests = append(guests, w.serving(pod, behind))
	}
	w.apply(objects)
	for _, pod := range objects.pods {
		w.server.Nbctl(t, "wait-until", "Logical_Switch_Port", "default_"+pod.Name, "up=true")
	}
	w.server.Nbctl(t, "--wait=hv", "sync")
	reachable(t, guests[0], "10.1.1.11:8080", "web")
	if got, err := guests[0].dial(t, "[fd01:0:0:1::11]:8080"); err != nil || got != "web" {
		t.Errorf("client to web, IPv6: %q, %v", got, err)
	}
	for _, command := range []string{"CHECK", "DEL", "DEL"} {
		if output, err := p.call(chassis[1], command, web, guests[1].Path()); err != nil {
			t.Errorf("%s: %s, %v", command, output, err)
		}
	}
	if output, err := p.call(chassis[1], "CHECK", web, guests[1].Path()); err == nil {
		t.Errorf("CHECK after DEL: %s, want an error", output)
	}
	w.server.Nbctl(t, "wait-until", "Logical_Switch_Port", "default_web", "up=false")
	if log, _ := os.ReadFile(filepath.Join(p.directory, "web.log")); !slices.Equal(strings.Fields(string(log)), []string{"ADD", "CHECK", "DEL", "DEL"}) {
		t.Errorf("calls of the IPAM plugin: %q", log)
	}

	// What fails leaves nothing behind, and the error names the step.
	output, err := p.call(chassis[1], "ADD", web, "/proc/0/ns/net")
	if err == nil || !strings.Contains(output, `"code":100`) {
		t.Errorf("ADD to a namespace that does not exist: %s, %v; want an error", output, err)
	}
	if log, _ := os.ReadFile(filepath.Join(p.directory, "web.log")); !strings.HasSuffix(string(log), "ADD\nDEL\n") {
		t.Errorf("calls of the IPAM plugin: %q, want the address released", log)
	}
	if err := os.Remove(filepath.Join(p.directory, "ipam-web")); err != nil {
		t.Fatal(err)
	}
	if output, err := p.call(chassis[1], "ADD", web, guests[1].Path()); err == nil || !strings.Contains(output, "plugin ipam-web is not in CNI_PATH") {
		t.Errorf("ADD without an IPAM plugin: %s, %v", output, err)
	}
}
