// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestNodeImpossible(t *testing.T) {
	for name, test := range map[string]struct {
		uid   int
		lacks string
		want  string // "": it is possible
	}{
		"all is there":   {},
		"not root":       {uid: 1000, want: "root"},
		"no containerd":  {lacks: "containerd", want: "apt-get install --no-install-recommends containerd"},
		"no CNI plugins": {lacks: "/usr/lib/cni/bridge", want: "containernetworking-plugins"},
		"no ip":          {lacks: "ip", want: "iproute2"},
	} {
		err := nodeImpossible(test.uid, func(program string) bool { return program != test.lacks })
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

func TestCheckNodeFiles(t *testing.T) {
	dir := binaries(t, "pause.tar", "a,b.tar")
	there := filepath.Join(dir, "pause.tar")
	for name, test := range map[string]struct {
		options Options
		want    string // "": they are good
	}{
		"good":                       {Options{Dir: dir, BinDir: dir, Images: []string{there}}, ""},
		"no images":                  {Options{Dir: dir, BinDir: dir}, "make images"},
		"an image that is not made":  {Options{Dir: dir, BinDir: dir, Images: []string{there, filepath.Join(dir, "b.tar")}}, "make images"},
		"a name with a comma":        {Options{Dir: dir, BinDir: dir, Images: []string{filepath.Join(dir, "a,b.tar")}}, "comma"},
		"a directory that is hidden": {Options{Dir: "/var/lib/x", BinDir: dir, Images: []string{there}}, "/var/lib"},
		"one like it":                {Options{Dir: "/var/library", BinDir: dir, Images: []string{there}}, ""},
		"binaries that are hidden":   {Options{Dir: dir, BinDir: "/run/bin", Images: []string{there}}, "/run"},
	} {
		err := test.options.checkNodeFiles()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

func TestMissingOf(t *testing.T) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	unready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Message: "no network"}
	for name, test := range map[string]struct {
		conditions []corev1.NodeCondition
		taints     []corev1.Taint
		want       string
	}{
		"new":     {want: "kubelet"},
		"unready": {conditions: []corev1.NodeCondition{unready}, want: "no network"},
		"tainted": {conditions: []corev1.NodeCondition{ready}, taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady}}, want: corev1.TaintNodeNotReady},
		"ready":   {conditions: []corev1.NodeCondition{ready}},
	} {
		got := missingOf(&corev1.Node{Spec: corev1.NodeSpec{Taints: test.taints}, Status: corev1.NodeStatus{Conditions: test.conditions}})
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestManagerConfigWithDiscoverers checks that one configuration has both the image of discoverers and the fake of MidoNet.
func TestManagerConfigWithDiscoverers(t *testing.T) {
	p := &Plane{options: Options{DiscovererImage: "localhost/d:v1", MidoNet: true}, dir: t.TempDir(), ports: map[string]int{midonetName: 1}}
	path, err := p.managerConfig()
	if err != nil {
		t.Fatal(err)
	}
	config := read(t, path)
	for _, want := range []string{"discovery:", "image: localhost/d:v1", "midonet:"} {
		if !strings.Contains(config, want) {
			t.Errorf("the configuration has no %q: %s", want, config)
		}
	}
}
