// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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

// TestRestartDisarms checks that a database that was full accepts writes again after a start that finds room in it.
func TestRestartDisarms(t *testing.T) {
	dir := t.TempDir()
	s := run(t, dir)
	c := connect(t, s)
	put(t, c, "before", "x")
	request := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: uint64(s.etcd.Server.MemberID()), Alarm: pb.AlarmType_NOSPACE}
	if _, err := s.etcd.Server.Alarm(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "full", "x"); !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatalf("error = %v, want %v", err, rpctypes.ErrNoSpace)
	}
	if status, err := c.Status(t.Context(), s.Endpoint()); err != nil || !strings.Contains(strings.Join(status.Errors, " "), "NOSPACE") {
		t.Errorf("status = %v, %v, want the alarm, as package etcdspace reads it", status, err)
	}
	s.Stop()
	again := connect(t, run(t, dir))
	put(t, again, "after", "y")
	if value := get(t, again, "before"); value != "x" {
		t.Errorf("value = %q, want that of before", value)
	}
}
