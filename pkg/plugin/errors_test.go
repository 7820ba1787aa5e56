// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// The error of an unavailable API server names it and points to its log; all others are unchanged.
func TestExplained(t *testing.T) {
	of := func(code int, group string) error {
		err := apierrors.NewGenericServerResponse(code, "get", schema.GroupResource{Group: group, Resource: "things"}, "x", "", 0, true)
		return fmt.Errorf("list Things: %w", err)
	}
	down := errors.New("stale GroupVersion discovery")
	for name, c := range map[string]struct {
		err  error
		hint string
	}{
		"Projects":    {of(http.StatusServiceUnavailable, "core.gardener.cloud"), "kubectl describe apiservice v1beta1.core.gardener.cloud"},
		"Klusters":    {of(http.StatusServiceUnavailable, "kubernikus.sap.cc"), "kubectl describe apiservice v1.kubernikus.sap.cc"},
		"another":     {of(http.StatusServiceUnavailable, "metrics.k8s.io"), ""},
		"no group":    {of(http.StatusServiceUnavailable, ""), ""},
		"no API":      {apierrors.NewServiceUnavailable("later"), ""},
		"another API": {of(http.StatusNotFound, "core.gardener.cloud"), ""},
		"discovery":   {&apiutil.ErrResourceDiscoveryFailed{{Group: "kubernikus.sap.cc", Version: "v1"}: down}, "is unavailable (stale GroupVersion discovery): see its log"},
		"any":         {errors.New("no response"), ""},
		"none":        {nil, ""},
	} {
		got := explained(c.err)
		switch {
		case c.hint == "" && got != c.err: //nolint:errorlint // this very error
			t.Errorf("%s: got %v", name, got)
		case c.hint != "" && (!errors.Is(got, c.err) && !errors.Is(got, down) || !strings.Contains(got.Error(), c.hint)):
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// A command whose requests the kube-apiserver cannot pass on reports it.
func TestCommandExplains(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version := metav1.GroupVersionForDiscovery{GroupVersion: gardenerv1beta1.SchemeGroupVersion.String(), Version: gardenerv1beta1.SchemeGroupVersion.Version}
		var response any
		switch r.URL.Path {
		case "/api":
			response = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}}
		case "/apis":
			response = metav1.APIGroupList{
				TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
				Groups:   []metav1.APIGroup{{Name: gardenerv1beta1.GroupName, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}},
			}
		case "/apis/" + version.GroupVersion:
			response = metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion,
				APIResources: []metav1.APIResource{{Name: "projects", SingularName: "project", Kind: "Project", Verbs: []string{"get"}}},
			}
		default:
			http.Error(w, "service unavailable", http.StatusServiceUnavailable) // as the aggregator does
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(response)
	}))
	defer server.Close()
	config := clientcmdapi.NewConfig()
	config.Clusters["it"], config.Contexts["it"], config.CurrentContext = &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.Context{Cluster: "it"}, "it"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	root := New(os.Stdin, os.Stdout)
	root.SetArgs([]string{"why", "project/web", "--kubeconfig", file})
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "describe apiservice v1beta1.core.gardener.cloud") {
		t.Errorf("got %v", err)
	}
}
