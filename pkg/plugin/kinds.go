// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

type kind struct {
	// title is its name in the plural, names are those that users type.
	title string
	names []string
	// object and list are empty ones.
	object func() client.Object
	list   func() client.ObjectList
	// global kinds have no namespace.
	global   bool
	findings func(client.Object, time.Time) []finding
}

// group returns the API group of a kind.
func (k kind) group() string {
	versions, _, err := newScheme().ObjectKinds(k.object())
	if err != nil {
		return ""
	}
	return versions[0].Group
}

func kindOf[T client.Object](
	title string, names []string, global bool, object func() T, list func() client.ObjectList, findings func(T, time.Time) []finding,
) kind {
	return kind{
		title: title, names: names, global: global, list: list,
		object: func() client.Object { return object() },
		findings: func(o client.Object, now time.Time) []finding {
			typed, ok := o.(T)
			if !ok {
				return nil
			}
			return findings(typed, now)
		},
	}
}

// Titles of kinds that commands are for.
const (
	klustersTitle = "Klusters"
	backendsTitle = "DiscoveryBackends"
)

func kinds() []kind {
	return []kind{
		kindOf("Projects", []string{"project", "projects"}, true, func() *gardenerv1beta1.Project { return &gardenerv1beta1.Project{} },
			func() client.ObjectList { return &gardenerv1beta1.ProjectList{} }, projectFindings),
		kindOf(klustersTitle, []string{"kluster", "klusters", "kl"}, false, func() *kubernikusv1.Kluster { return &kubernikusv1.Kluster{} },
			func() client.ObjectList { return &kubernikusv1.KlusterList{} }, klusterFindings),
		kindOf(backendsTitle, []string{"discoverybackend", "discoverybackends", "dbe"}, false,
			func() *gimbalv1.DiscoveryBackend { return &gimbalv1.DiscoveryBackend{} },
			func() client.ObjectList { return &gimbalv1.DiscoveryBackendList{} }, backendFindings),
		kindOf("Translations", []string{"translation", "translations", "tr"}, false,
			func() *midonetv1.Translation { return &midonetv1.Translation{} },
			func() client.ObjectList { return &midonetv1.TranslationList{} }, translationFindings),
	}
}

// parseAs reads NAME, KIND/NAME or KIND NAME of the kind that a command is for.
func parseAs(title string, args []string) (string, error) {
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		return args[0], nil
	}
	k, name, err := parse(args)
	if err == nil && k.title != title {
		err = fmt.Errorf("%q is none of the %s that this command is for", strings.Join(args, " "), title)
	}
	return name, err
}

// parse reads KIND/NAME or KIND NAME.
func parse(args []string) (kind, string, error) {
	name := ""
	words := args
	if len(args) == 1 {
		words = strings.SplitN(args[0], "/", 2)
	}
	if len(words) == 2 {
		name = words[1]
	}
	if name == "" {
		return kind{}, "", fmt.Errorf("%q is not KIND/NAME, like kluster/web", strings.Join(args, " "))
	}
	// The group may follow, as kubectl prints it.
	typed, _, _ := strings.Cut(strings.ToLower(words[0]), ".")
	var known []string
	for _, k := range whyKinds() {
		if slices.Contains(k.names, typed) {
			return k, name, nil
		}
		known = append(known, k.names[0])
	}
	return kind{}, "", fmt.Errorf("%q is not one of these kinds: %s", words[0], strings.Join(known, ", "))
}
