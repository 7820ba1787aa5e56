// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The etcd that Groundskeeper installs has one quota, embedded or not: half of its volume, and the alert fires below it.
func TestOneQuota(t *testing.T) {
	const gib = 1 << 30
	read := func(path string) string {
		t.Helper()
		content, err := os.ReadFile("../../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	if size := etcdConfig(Config{}, &directory{}, nil).QuotaBackendBytes; size != quotaBytes {
		t.Errorf("the embedded etcd has a quota of %d bytes", size)
	}
	cluster := read("artifacts/install/high-availability/etcd.yaml")
	if !strings.Contains(cluster, fmt.Sprintf("- --quota-backend-bytes=%d\n", quotaBytes)) {
		t.Error("etcd of the highly available installation has another quota than the embedded one")
	}
	for name, manifest := range map[string]string{"cluster": cluster, "embedded": read("artifacts/install/single-replica/volume.yaml")} {
		if size := fmt.Sprintf("requests: {storage: %dGi}", 2*quotaBytes/gib); !strings.Contains(manifest, size) {
			t.Errorf("%s: the volume is not twice the quota", name)
		}
	}
	for _, path := range []string{"alerts/groundskeeper.rules.yaml", "prometheus-operator/rules.yaml"} {
		rules := read("artifacts/monitoring/" + path)
		threshold := regexp.MustCompile(`apiserver_storage_size_bytes\{[^}]*\}\) > ([0-9.]+) \* ([0-9]+) \* 1024 \* 1024 \* 1024\n`).FindStringSubmatch(rules)
		if threshold == nil {
			t.Fatalf("%s: no alert of the size of the database", path)
		}
		share, err := strconv.ParseFloat(threshold[1], 64)
		if err != nil || share < 0.5 || share > 0.9 || threshold[2] != strconv.Itoa(quotaBytes/gib) {
			t.Errorf("%s: it fires at %s of %s GiB, where the quota is %d GiB: %v", path, threshold[1], threshold[2], quotaBytes/gib, err)
		}
		if description := fmt.Sprintf("of its quota of %d GiB.", quotaBytes/gib); !strings.Contains(rules, description) {
			t.Errorf("%s: the alert does not report %q", path, description)
		}
	}
}
