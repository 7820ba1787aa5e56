// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// configVersion is the apiVersion of the controller manager's configuration.
const configVersion = v1alpha1.GroupName + "/v1alpha1"

// addition are fields that a plane adds to the controller managers' configuration.
type addition struct {
	// option is what of the plane sets them, in messages.
	option string
	path   []string
	fields map[string]any
}

// managerConfig returns the file of the controller managers' configuration, empty for none: that of the options, or a
// copy of it that leads to the backend of Translations and names the image of discoverers.
func (p *Plane) managerConfig() (string, error) {
	var additions []addition
	if p.options.MidoNet {
		additions = append(additions, p.midonetAddition())
	}
	if p.options.OVN {
		additions = append(additions, p.ovnAddition())
	}
	if image := p.options.DiscovererImage; image != "" {
		additions = append(additions, addition{option: "the image of discoverers", path: []string{"controllers", "discovery"}, fields: map[string]any{"image": image}})
	}
	if len(additions) == 0 {
		return p.options.ManagerConfig, nil
	}
	config := []byte("apiVersion: " + configVersion + "\nkind: " + v1alpha1.ControllerManagerConfigurationKind + "\n")
	var err error
	if p.options.ManagerConfig != "" {
		if config, err = os.ReadFile(p.options.ManagerConfig); err != nil {
			return "", err
		}
	}
	for _, a := range additions {
		if config, err = a.addTo(config); err != nil {
			return "", fmt.Errorf("%s: %w", p.options.ManagerConfig, err)
		}
	}
	path := filepath.Join(p.dir, "manager-config.yaml")
	return path, writeFile(path, config)
}

// addTo returns the configuration with the fields, which it must not have itself. Whether the rest of it makes sense is for the
// controller manager to report.
func (a addition) addTo(config []byte) ([]byte, error) {
	data, err := yaml.YAMLToJSONStrict(config)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &object); err != nil {
		return nil, err
	}
	if apiVersion, kind := object["apiVersion"], object["kind"]; apiVersion != configVersion || kind != v1alpha1.ControllerManagerConfigurationKind {
		return nil, fmt.Errorf("it is of apiVersion %v, kind %v: %s needs %s, %s", apiVersion, kind, a.option, configVersion, v1alpha1.ControllerManagerConfigurationKind)
	}
	for name, value := range a.fields {
		field := append(slices.Clone(a.path), name)
		if _, found, _ := unstructured.NestedFieldNoCopy(object, field...); found {
			return nil, fmt.Errorf("%s is set: remove it, or start without %s, which sets it", strings.Join(field, "."), a.option)
		}
		if err := unstructured.SetNestedField(object, value, field...); err != nil {
			return nil, err
		}
	}
	return yaml.Marshal(object)
}
