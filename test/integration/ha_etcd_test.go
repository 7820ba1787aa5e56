// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// etcdPassword is the password of root. The API servers prove who they are by their certificate.
const etcdPassword = "of-root"

// etcdHasUsers lets etcd reject everybody but root and the user of the API servers, with the permissions that are documented.
func (h *ha) etcdHasUsers(t *testing.T) {
	t.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: h.MemberEndpoints(), TLS: h.EtcdTLS()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = etcd.Close() }()
	user, err := x509.ParseCertificate(h.EtcdTLS().Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{user.Subject.CommonName: storePrefix + "/"}
	if err := etcdtest.Authenticate(t.Context(), etcd, etcdPassword, documented); err != nil {
		t.Fatal(err)
	}
}

// etcdMemberFreezes stops the leader (SIGSTOP), whose connections stand, until the load continues without it.
func (h *ha) etcdMemberFreezes(t *testing.T) {
	leader := h.etcdLeader(t)
	pid := leader.PID()
	if pid == 0 { // 0 would be this process itself
		t.Fatalf("%s ended", leader.Name())
	}
	resume := func() error { return syscall.Kill(pid, syscall.SIGCONT) }
	defer func() { _ = resume() }() // also if the test fails
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	h.load.continues(t, 30)
	t.Logf("without %s it continued after %s", leader.Name(), time.Since(began).Round(100*time.Millisecond))
	if err := resume(); err != nil {
		t.Fatal(err)
	}
}

// etcdLosesMembers kills the leader, which comes back with its data, and then one that follows, which comes back without.
func (h *ha) etcdLosesMembers(t *testing.T) {
	leader := h.etcdLeader(t)
	h.kill(t, leader)
	restart(t, leader)

	follower := h.EtcdMembers[0]
	if follower == h.etcdLeader(t) {
		follower = h.EtcdMembers[1]
	}
	h.kill(t, follower)
	if err := os.RemoveAll(filepath.Join(h.Dir(), "members", follower.Name())); err != nil {
		t.Fatal(err)
	}
	h.replaceMember(t, follower.Name())
	restart(t, follower, "--initial-cluster-state=existing")
}

// kill kills a member, and waits until the load continues without it.
func (h *ha) kill(t *testing.T, member *plane.Process) {
	t.Helper()
	if err := member.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	h.load.continues(t, 5)
	t.Logf("without %s it continued after %s", member.Name(), time.Since(began).Round(100*time.Millisecond))
}

// replaceMember instructs the others to discard a member that lost its data, and to expect another one in its place. They reject
// until they have been connected for a while.
func (h *ha) replaceMember(t *testing.T, name string) {
	t.Helper()
	etcd := h.etcd(t)
	var peers []string
	eventually(t, func(ctx context.Context) error {
		members, err := etcd.MemberList(ctx)
		if err != nil {
			return err
		}
		for _, member := range members.Members {
			if member.Name == name {
				peers = member.PeerURLs
				_, err := etcd.MemberRemove(ctx, member.ID)
				return errors.Join(err, errors.New("recheck"))
			}
		}
		return nil
	})
	eventually(t, func(ctx context.Context) error {
		members, err := etcd.MemberList(ctx)
		if err != nil || slices.ContainsFunc(members.Members, func(m *pb.Member) bool { return slices.Equal(m.PeerURLs, peers) }) {
			return err
		}
		_, err = etcd.MemberAdd(ctx, peers)
		return err
	})
}

func (h *ha) etcd(t *testing.T) *clientv3.Client {
	t.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: h.MemberEndpoints(), TLS: h.EtcdTLS(), Username: "root", Password: etcdPassword})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	return etcd
}

func (h *ha) etcdLeader(t *testing.T) (leader *plane.Process) {
	t.Helper()
	etcd := h.etcd(t)
	eventually(t, func(ctx context.Context) error {
		for i, endpoint := range h.MemberEndpoints() {
			status, err := etcd.Status(ctx, endpoint)
			if err != nil {
				return err
			}
			if status.Leader == status.Header.MemberId {
				leader = h.EtcdMembers[i]
				return nil
			}
		}
		return fmt.Errorf("no member of etcd leads")
	})
	return leader
}

// membersAgree waits until all members of etcd have the same content.
func (h *ha) membersAgree(t *testing.T) {
	t.Helper()
	etcd := h.etcd(t)
	eventually(t, func(ctx context.Context) error {
		newest, err := etcd.Get(ctx, "any")
		if err != nil {
			return err
		}
		var hashes []uint32
		for _, endpoint := range h.MemberEndpoints() {
			hash, err := etcd.HashKV(ctx, endpoint, newest.Header.Revision)
			if err != nil {
				return err
			}
			hashes = append(hashes, hash.Hash)
		}
		if len(slices.Compact(hashes)) != 1 {
			return fmt.Errorf("the members of etcd differ at revision %d: %v", newest.Header.Revision, hashes)
		}
		return nil
	})
}

// certificatesAreMade waits until the managers have made what etcd and its clients prove themselves with, with the permissions of
// artifacts/install/high-availability.
func (h *ha) certificatesAreMade(t *testing.T) {
	t.Helper()
	for secret, host := range map[string]string{"groundskeeper-etcd-tls": "groundskeeper-etcd-2.groundskeeper-etcd.groundskeeper-system.svc", "groundskeeper-etcd-client-tls": ""} {
		var made corev1.Secret
		eventually(t, func(ctx context.Context) error {
			return h.client.Get(ctx, client.ObjectKey{Namespace: "groundskeeper-system", Name: secret}, &made)
		})
		pair, err := tls.X509KeyPair(made.Data[corev1.TLSCertKey], made.Data[corev1.TLSPrivateKeyKey])
		if err != nil {
			t.Fatalf("%s: %v", secret, err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(made.Data["ca.crt"])
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
			t.Errorf("%s: %v", secret, err)
		}
	}
}
