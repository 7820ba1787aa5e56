// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// pauseImage holds the namespaces of each pod; hack/images builds it.
const pauseImage = "localhost/pause:1"

// writeNodeConfig writes what the programs of the node read, and returns the files.
func (p *Plane) writeNodeConfig() ([]string, error) {
	dir := p.nodeConfigDir()
	if err := os.MkdirAll(filepath.Join(dir, "cni"), 0o700); err != nil {
		return nil, err
	}
	kubelet, err := yaml.Marshal(p.kubeletConfig())
	if err != nil {
		return nil, err
	}
	cni, err := yaml.Marshal(p.cniConfig())
	if err != nil {
		return nil, err
	}
	if cni, err = yaml.YAMLToJSON(cni); err != nil {
		return nil, err
	}
	var files []string
	for name, content := range map[string][]byte{"containerd.toml": p.containerdConfig(), "kubelet.yaml": kubelet, "cni/bridge.conflist": cni} {
		path := filepath.Join(dir, name)
		if err := writeFile(path, content); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	for name, u := range map[string]user{
		"kubelet":    {name: "system:node:" + NodeName, groups: []string{"system:nodes"}},
		"kube-proxy": {name: "system:kube-proxy"},
	} {
		path, err := p.kubeconfig(name, u)
		if err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	files = append(files, p.credentials.certificate("ca"))
	slices.Sort(files) // the fingerprint has their order
	return files, nil
}

// containerdConfig is for version 1.6, of Debian 12, and later ones, which read it too.
func (p *Plane) containerdConfig() []byte {
	const cri = `plugins."io.containerd.grpc.v1.cri"`
	return fmt.Appendf(nil, `version = 2
[%[1]s]
  sandbox_image = %[2]q
  # The machine may run without permission to change the order in which processes are killed when memory is short.
  restrict_oom_score_adj = true
  [%[1]s.cni]
    bin_dir = %[3]q
    conf_dir = %[4]q
`, cri, pauseImage, cniPlugins, filepath.Join(p.nodeConfigDir(), "cni"))
}

// kubeletConfig lets kubelet run beside whatever else the machine does: it divides no resources and evicts late.
func (p *Plane) kubeletConfig() map[string]any {
	return map[string]any{
		"apiVersion":                    "kubelet.config.k8s.io/v1beta1",
		"kind":                          "KubeletConfiguration",
		"containerRuntimeEndpoint":      "unix:///run/containerd/containerd.sock",
		"authentication":                map[string]any{"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true}, "x509": map[string]any{"clientCAFile": p.credentials.certificate("ca")}},
		"authorization":                 map[string]any{"mode": "Webhook"},
		"cgroupDriver":                  "cgroupfs",
		"cgroupsPerQOS":                 false,
		"enforceNodeAllocatable":        []string{},
		"failCgroupV1":                  false,
		"failSwapOn":                    false,
		"localStorageCapacityIsolation": false,
		"resolvConf":                    "/dev/null",
		"evictionHard":                  map[string]any{"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
		"nodeStatusUpdateFrequency":     "5s",
		"configMapAndSecretChangeDetectionStrategy": "Watch",
	}
}

// cniConfig connects pods by a bridge. Beyond the node they are seen as the node.
func (p *Plane) cniConfig() map[string]any {
	subnet := p.state.Network.pods().String()
	return map[string]any{
		"cniVersion": "0.4.0",
		"name":       "pods",
		"plugins": []any{map[string]any{
			"type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": true, "hairpinMode": true,
			"ipam": map[string]any{
				"type":   "host-local",
				"ranges": []any{[]any{map[string]any{"subnet": subnet}}},
				"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
			},
		}},
	}
}
