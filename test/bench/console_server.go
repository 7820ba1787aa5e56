// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// listedPage is how many objects a page has: as many as the console requests.
const listedPage = 2000

// listedKind is a kind of the server: its pages are encoded before anything is measured.
type listedKind struct {
	resource   schema.GroupVersionResource
	kind       string
	namespaced bool
	// pages are in JSON and in protobuf, by the type of content.
	pages map[string][][]byte
}

// listedServer is an API server that lists objects, and whose watches report nothing.
type listedServer struct {
	*httptest.Server
	kinds []*listedKind
	codec serializer.CodecFactory
}

// newListedServer serves all kinds of Groundskeeper, of which three have objects. A tenth of them has findings. Their conditions
// are summarized as the API server does.
func newListedServer(projects, klusters, translations int) (*listedServer, error) {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		return nil, err
	}
	server := &listedServer{codec: serializer.NewCodecFactory(s)}
	listedProjects := make([]runtime.Object, 0, projects)
	for i := range projects {
		listedProjects = append(listedProjects, listedProject(i))
	}
	listed := make([]runtime.Object, 0, klusters)
	for i := range klusters {
		listed = append(listed, listedKluster(i))
	}
	for _, k := range []struct {
		*listedKind
		list    func() runtime.Object
		objects []runtime.Object
	}{
		{&listedKind{resource: gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), kind: "Project"}, func() runtime.Object { return &gardenerv1beta1.ProjectList{} }, listedProjects},
		{&listedKind{resource: kubernikusv1.SchemeGroupVersion.WithResource("klusters"), kind: "Kluster", namespaced: true},
			func() runtime.Object { return &kubernikusv1.KlusterList{} }, listed},
		{&listedKind{resource: gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), kind: "DiscoveryBackend", namespaced: true},
			func() runtime.Object { return &gimbalv1.DiscoveryBackendList{} }, nil},
		{&listedKind{resource: midonetv1.SchemeGroupVersion.WithResource("translations"), kind: "Translation", namespaced: true},
			func() runtime.Object { return &midonetv1.TranslationList{} }, listedTranslations(translations)},
	} {
		if err := server.encode(k.listedKind, k.list, k.objects); err != nil {
			return nil, err
		}
		server.kinds = append(server.kinds, k.listedKind)
	}
	server.Server = httptest.NewServer(server)
	return server, nil
}

// managed is an entry of managedFields as the API server has one for each client that wrote an object.
func managed(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

func listedProject(i int) runtime.Object {
	p := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("project-%d", i), UID: types.UID(fmt.Sprint("p-", i)), ResourceVersion: strconv.Itoa(i + 1), Generation: 1,
		CreationTimestamp: metav1.Now(), ManagedFields: []metav1.ManagedFieldsEntry{managed("kubectl", `{"f:spec":{"f:members":{},"f:namespace":{}}}`), managed("project", `{"f:status":{"f:conditions":{},"f:phase":{}}}`)}}}
	p.Spec.Namespace = new(fmt.Sprintf("garden-%d", i))
	p.Spec.Members = []gardenerv1beta1.ProjectMember{{Subject: rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: fmt.Sprintf("user-%d", i)}, Role: "admin"}}
	p.Status.Phase, p.Status.ObservedGeneration = gardenerv1beta1.ProjectReady, 1
	for _, c := range []gardenerv1beta1.Condition{
		{Type: gardenerv1beta1.ProjectNamespaceReady, Status: gardenerv1beta1.ConditionTrue, Reason: "NamespaceReconciled", Message: "namespace " + *p.Spec.Namespace + " belongs to the project"},
		{Type: gardenerv1beta1.ProjectRBACReady, Status: gardenerv1beta1.ConditionTrue, Reason: "RBACReconciled", Message: "the roles of all members are reconciled"},
		{Type: gardenerv1beta1.ProjectDeletable, Status: gardenerv1beta1.ConditionFalse, Reason: "NamespaceNotEmpty", Message: "1 klusters.kubernikus.sap.cc are in the namespace"},
		{Type: gardenerv1beta1.ProjectStale, Status: gardenerv1beta1.ConditionFalse, Reason: "Used", Message: "1 klusters.kubernikus.sap.cc use the project"},
	} {
		if i%10 == 0 && c.Type == gardenerv1beta1.ProjectRBACReady {
			c.Status, c.Reason, c.Message = gardenerv1beta1.ConditionFalse, "AuthorizationDiffers", "the server and the controller manager have different modes of authorization"
		}
		c.LastTransitionTime, c.LastUpdateTime = metav1.Now(), metav1.Now()
		p.Status.Conditions = append(p.Status.Conditions, c)
	}
	conditions.SetProject(p, p.DeepCopy(), time.Now())
	return p
}

func listedKluster(i int) runtime.Object {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("garden-%d", i%1000), Name: fmt.Sprintf("cluster-%d", i), UID: types.UID(fmt.Sprint("k-", i)),
		ResourceVersion: strconv.Itoa(i + 1), Generation: 1, Finalizers: []string{kubernikusv1.DeorbiterFinalizer}, CreationTimestamp: metav1.Now(),
		ManagedFields: []metav1.ManagedFieldsEntry{managed("kubectl", `{"f:spec":{"f:name":{},"f:openstack":{"f:projectID":{}}}}`), managed("kluster", `{"f:status":{"f:conditions":{},"f:phase":{}}}`)}}}
	k.Status.Phase, k.Status.ObservedGeneration = kubernikusv1.KlusterRunning, 1
	for _, c := range []string{kubernikusv1.ConditionAPIServerReachable, kubernikusv1.ConditionOpenStackReachable, kubernikusv1.ConditionRoutesClean} {
		k.Status.Conditions = append(k.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, Reason: "AsExpected", Message: "all routes of the cluster have a live next hop", ObservedGeneration: 1, LastTransitionTime: metav1.Now()})
	}
	if i%10 == 0 {
		k.Status.Conditions[1].Status, k.Status.Conditions[1].Reason = metav1.ConditionFalse, "CredentialsInvalid"
	}
	conditions.SetKluster(k, k.DeepCopy(), time.Now())
	return k
}

// listedTranslations are those of Services and of the ports of their endpoints.
func listedTranslations(count int) (all []runtime.Object) {
	config := defaultConversion()
	for i := 0; len(all) < count; i++ {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("garden-%d", i%1000), Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprint("s-", i))},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: fmt.Sprintf("10.%d.%d.%d", 96+i>>16, i>>8&255, i&255), Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}}}
		result := convert.Service(service, config)
		for j := range result.Translations {
			t := &result.Translations[j]
			t.UID, t.ResourceVersion, t.CreationTimestamp, t.Generation, t.Status.ObservedGeneration = types.UID(fmt.Sprint("t-", len(all))), strconv.Itoa(len(all)+1), metav1.Now(), 1, 1
			t.ManagedFields = []metav1.ManagedFieldsEntry{managed("translation-converter", `{"f:metadata":{"f:labels":{},"f:ownerReferences":{}},"f:resources":{}}`), managed("translation-pusher", `{"f:status":{"f:conditions":{},"f:resources":{}}}`)}
			state := midonetv1.BackendResourceSynced
			if len(all)%10 == 0 {
				state = midonetv1.BackendResourceDrifted
			}
			for range t.Resources {
				t.Status.Resources = append(t.Status.Resources, midonetv1.BackendResourceStatus{Kind: "Chain", ID: "13fb0355-e2d9-5a9f-83a6-1efd43edebbc", State: state, BodyHash: "9e107d9d372bb6826bd81d3542a419d6"})
			}
			t.Status.Conditions = []metav1.Condition{{Type: midonetv1.ConditionSynced, Status: metav1.ConditionTrue, Reason: "Synced", ObservedGeneration: 1, LastTransitionTime: metav1.Now()}}
			if state == midonetv1.BackendResourceDrifted {
				t.Status.Conditions[0].Status, t.Status.Conditions[0].Reason, t.Status.Conditions[0].Message = metav1.ConditionFalse, "Drifted", "another client changed 1 resource"
			}
			conditions.SetTranslation(t, t.DeepCopy(), time.Now())
			if len(all) < count {
				all = append(all, t)
			}
		}
	}
	return all
}

// encode makes the pages of a kind.
func (s *listedServer) encode(k *listedKind, list func() runtime.Object, objects []runtime.Object) error {
	k.pages = map[string][][]byte{}
	pages := slices.Collect(slices.Chunk(objects, listedPage))
	if len(pages) == 0 {
		pages = [][]runtime.Object{nil}
	}
	for i, page := range pages {
		one := list()
		if err := meta.SetList(one, page); err != nil {
			return err
		}
		accessor, err := meta.ListAccessor(one)
		if err != nil {
			return err
		}
		accessor.SetResourceVersion("1000000")
		if i+1 < len(pages) {
			accessor.SetContinue(strconv.Itoa(i + 1))
		}
		for _, info := range s.codec.SupportedMediaTypes() {
			var encoded bytes.Buffer
			if err := s.codec.EncoderForVersion(info.Serializer, k.resource.GroupVersion()).Encode(one, &encoded); err != nil {
				return err
			}
			k.pages[info.MediaType] = append(k.pages[info.MediaType], encoded.Bytes())
		}
	}
	return nil
}

// ServeHTTP serves discovery, lists and watches. Everything else does not exist.
func (s *listedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	groups := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, k := range s.kinds {
		path := "/apis/" + k.resource.GroupVersion().String()
		version := metav1.GroupVersionForDiscovery{GroupVersion: k.resource.GroupVersion().String(), Version: k.resource.Version}
		group := metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: k.resource.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
		groups.Groups = append(groups.Groups, group)
		switch r.URL.Path {
		case "/apis/" + k.resource.Group:
			respondJSON(w, http.StatusOK, group)
			return
		case path:
			respondJSON(w, http.StatusOK, &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion,
				APIResources: []metav1.APIResource{{Name: k.resource.Resource, Kind: k.kind, Namespaced: k.namespaced, Verbs: metav1.Verbs{"get", "list", "watch"}}}})
			return
		case path + "/" + k.resource.Resource:
			k.serve(w, r)
			return
		}
	}
	switch r.URL.Path {
	case "/api":
		respondJSON(w, http.StatusOK, &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}})
	case "/apis":
		respondJSON(w, http.StatusOK, groups)
	default:
		respondJSON(w, http.StatusNotFound, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

// serve responds with a page, or with a watch during which nothing happens.
func (k *listedKind) serve(w http.ResponseWriter, r *http.Request) {
	content := runtime.ContentTypeJSON
	if strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		content = runtime.ContentTypeProtobuf
	}
	query := r.URL.Query()
	if watch := query.Get("watch"); watch == "true" || watch == "1" {
		if content == runtime.ContentTypeProtobuf {
			content += ";stream=watch"
		}
		w.Header().Set("Content-Type", content)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	page, _ := strconv.Atoi(query.Get("continue"))
	w.Header().Set("Content-Type", content)
	_, _ = w.Write(k.pages[content][page]) // fails when the console has ended
}

func respondJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // fails when the console has ended
}
