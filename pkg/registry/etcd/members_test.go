// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/apis/example"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage"

	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// users issues client certificates, by whose common names etcd identifies its users.
type users struct {
	dir, ca     string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newUsers(t *testing.T) *users {
	t.Helper()
	u := &users{dir: t.TempDir()}
	u.ca = filepath.Join(u.dir, "ca.crt")
	u.certificate, u.key = u.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return u
}

// of returns the files of a user. They are those of a server as well.
func (u *users) of(t *testing.T, name string) transport.TLSInfo {
	t.Helper()
	u.issue(t, name, &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return transport.TLSInfo{CertFile: filepath.Join(u.dir, name+".crt"), KeyFile: filepath.Join(u.dir, name+".key"), TrustedCAFile: u.ca, ClientCertAuth: true}
}

func (u *users) issue(t *testing.T, name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, key
	if u.key != nil {
		parent, signer = u.certificate, u.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(u.dir, name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// TestUsersOfEtcd checks that the storage works with user authentication of etcd, as a user who is allowed to read and write what is below
// the prefix and no more, as documented, and that another user cannot. Only root is allowed to compact.
func TestUsersOfEtcd(t *testing.T) {
	issuer := newUsers(t)
	root := issuer.of(t, "root")
	etcd := etcdtest.Run(t, func(c *embed.Config) {
		u := etcdtest.FreePort(t, "https")
		c.ListenClientUrls, c.AdvertiseClientUrls, c.ClientTLSInfo = []url.URL{u}, []url.URL{u}, root
	})
	const registry = "/test-registry/"
	for user, keys := range map[string][]string{"root": nil, "groundskeeper": {registry}, "other": {"/registry/"}} {
		_, err := etcd.UserAddWithOptions(t.Context(), user, "", &clientv3.UserAddOptions{NoPassword: true})
		if err == nil {
			_, err = etcd.RoleAdd(t.Context(), user)
		}
		for _, key := range keys {
			if err == nil {
				end := clientv3.GetPrefixRangeEnd(key)
				_, err = etcd.RoleGrantPermission(t.Context(), user, key, end, clientv3.PermissionType(clientv3.PermReadWrite))
			}
		}
		if err == nil {
			_, err = etcd.UserGrantRole(t.Context(), user, user)
		}
		if err != nil {
			t.Fatalf("user %s: %v", user, err)
		}
	}
	if _, err := etcd.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
	as := func(user string) *genericoptions.EtcdOptions {
		options, files := newOptions(t, etcd.Endpoints()...), issuer.of(t, user)
		connection := &options.StorageConfig.Transport
		connection.CertFile, connection.KeyFile, connection.TrustedCAFile = files.CertFile, files.KeyFile, files.TrustedCAFile
		options.StorageConfig.CompactionInterval = 0
		return options
	}

	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprintf("cached=%t", cached), func(t *testing.T) {
			options := as("groundskeeper")
			options.EnableWatchCache = cached
			works(t, openForSuite(t, options, byNode(), storage.NamespaceKeyFunc))
		})
	}
	t.Run("compaction", func(t *testing.T) {
		client, err := NewClient(t.Context(), as("groundskeeper").StorageConfig.Transport)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		if _, err := client.Compact(t.Context(), 2); !errors.Is(err, rpctypes.ErrPermissionDenied) {
			t.Errorf("compact: error = %v, want %v", err, rpctypes.ErrPermissionDenied)
		}
	})
	t.Run("another user", func(t *testing.T) {
		options := as("other")
		options.EnableWatchCache = false
		s := openForSuite(t, options, byNode(), storage.NamespaceKeyFunc)
		for what, err := range map[string]error{
			"create": s.Create(t.Context(), "/pods/default/a", newPod("a", ""), &example.Pod{}, 0),
			"get":    s.Get(t.Context(), "/pods/default/a", storage.GetOptions{}, &example.Pod{}),
			"list":   s.GetList(t.Context(), "/pods/", storage.ListOptions{Recursive: true, Predicate: storage.Everything}, &example.PodList{}),
		} {
			if !errors.Is(err, rpctypes.ErrPermissionDenied) {
				t.Errorf("%s: error = %v, want %v", what, err, rpctypes.ErrPermissionDenied)
			}
		}
	})
}

// works checks that a storage writes, reads what it has written, lists, watches, deletes, and reserves names.
func works(t *testing.T, s storage.Interface) {
	t.Helper()
	changes, err := s.Watch(t.Context(), "/pods/", storage.ListOptions{Recursive: true, Predicate: storage.Everything})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	for i := range 12 {
		name := fmt.Sprintf("p%d", i)
		key, pod := "/pods/default/"+name, newPod(name, "node-of-"+name)
		pod.Namespace = "default"
		if err := s.Create(t.Context(), key, pod, &example.Pod{}, 0); err != nil {
			t.Fatalf("create %s: %v", name, err)
		}
		second := newPod("second", "node-of-"+name)
		if err := s.Create(t.Context(), "/pods/default/second", second, &example.Pod{}, 0); !apierrors.IsForbidden(err) {
			t.Errorf("create another object with the name of %s: error = %v, want Forbidden", name, err)
		}
		found := &example.PodList{}
		if err := s.GetList(t.Context(), "/pods/", storage.ListOptions{Recursive: true, Predicate: storage.Everything}, found); err != nil || len(found.Items) != 1 {
			t.Errorf("list after the creation of %s = %d objects, %v, want 1", name, len(found.Items), err)
		}
		if err := s.Delete(t.Context(), key, &example.Pod{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}); err != nil {
			t.Fatalf("delete %s: %v", name, err)
		}
		for _, want := range []string{"ADDED", "DELETED"} {
			select {
			case event := <-changes.ResultChan():
				pod, err := meta.Accessor(event.Object)
				if err != nil || string(event.Type) != want || pod.GetName() != name {
					t.Fatalf("event = %s %v (%v), want %s of %s", event.Type, event.Object, err, want, name)
				}
			case <-t.Context().Done():
				t.Fatalf("no event %s of %s", want, name)
			}
		}
	}
}

// TestSlowMemberOfEtcd checks that one of three members that responds late, and is far behind, makes no request fail and no list old,
// whether the watch cache watches this member or another one.
func TestSlowMemberOfEtcd(t *testing.T) {
	endpoints := etcdtest.RunCluster(t, 3)
	for slow := range endpoints {
		for _, cached := range []bool{false, true} {
			t.Run(fmt.Sprintf("slow=%d/cached=%t", slow, cached), func(t *testing.T) {
				t.Parallel()
				member := newProxy(t, endpoints[slow])
				options := newOptions(t, slices.Replace(slices.Clone(endpoints), slow, slow+1, member.address)...)
				options.StorageConfig.Prefix = fmt.Sprintf("/%d-%t", slow, cached)
				options.EnableWatchCache = cached
				s := openForSuite(t, options, byNode(), storage.NamespaceKeyFunc)
				// A client uses a member from the moment on at which it is connected.
				for member.passed.Load() == 0 {
					works(t, s)
				}
				member.slow.Store(true)
				works(t, s)
				if member.delayed.Load() == 0 {
					t.Error("no response of the slow member was used")
				}
			})
		}
	}
}

// proxy passes on what a member of etcd and its clients send.
type proxy struct {
	address string
	// slow delays each response.
	slow            atomic.Bool
	passed, delayed atomic.Int64
}

func newProxy(t *testing.T, member string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{address: "http://" + l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(member, "http://"))
			if err != nil {
				_ = client.Close()
				continue
			}
			t.Cleanup(func() { _, _ = client.Close(), server.Close() })
			go func() { _, _ = io.Copy(server, client) }()
			go p.respond(client, server)
		}
	}()
	return p
}

// respond passes on responses until one of the two ends.
func (p *proxy) respond(client io.Writer, server io.Reader) {
	data := make([]byte, 64<<10)
	for {
		n, err := server.Read(data)
		if err != nil {
			return
		}
		if p.slow.Load() {
			<-time.After(100 * time.Millisecond)
			p.delayed.Add(1)
		}
		if _, err := client.Write(data[:n]); err != nil {
			return
		}
		p.passed.Add(1)
	}
}
