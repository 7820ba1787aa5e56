// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DelayAnnotation on a StorageClass is how long the node of its volumes has to be missing before their claims are deleted, instead of the
// configured delay. Only administrators can set it: classes have no namespace.
const DelayAnnotation = "groundskeeper.io/local-volume-deletion-delay"

// classSettings are what the annotations of a StorageClass specify for its volumes.
type classSettings struct {
	// optedIn reports that its volumes are cleaned up, whether the class is configured or not.
	optedIn bool
	// delay is the delay of its claims; nil: the configured one.
	delay *time.Duration
	// kept is why nothing of it is deleted.
	kept string
}

// classSettingsOf reads the annotations of a StorageClass. Values that are not known retain everything of the class.
func classSettingsOf(class metav1.Object) (s classSettings) {
	s.optedIn = class.GetAnnotations()[OptOutAnnotation] == OptInValue
	if value := optOut(class); value != "" {
		s.kept = fmt.Sprintf("the annotation %s of its storage class is %s", OptOutAnnotation, value)
	}
	text, ok := class.GetAnnotations()[DelayAnnotation]
	if !ok {
		return s
	}
	if delay, err := time.ParseDuration(text); err == nil && delay >= 0 {
		s.delay = &delay
	} else {
		s.kept = fmt.Sprintf("the annotation %s of its storage class is %q, which is no duration, for instance 10m", DelayAnnotation, text)
	}
	return s
}

// SetClass takes over the annotations of a StorageClass, and reports whether a reconciliation is needed.
func (s *Site) SetClass(class metav1.Object) bool {
	changed, optedIn := s.Inventory.setClass(class.GetName(), classSettingsOf(class))
	if optedIn {
		s.tenures.want(class.GetName())
	}
	return changed
}

// RemoveClass opts a StorageClass that was deleted out, unless it is configured. Its other settings still apply: a class is deleted to be
// created again with other parameters.
func (s *Site) RemoveClass(name string) bool {
	changed, _ := s.Inventory.setClass(name, s.Inventory.withoutOptIn(name))
	return changed
}

func (i *Inventory) withoutOptIn(class string) classSettings {
	i.mu.Lock()
	defer i.mu.Unlock()
	settings := i.settings[class]
	settings.optedIn = false
	return settings
}

func (i *Inventory) setClass(class string, now classSettings) (changed, optedIn bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	before, was := i.settings[class], i.optedIn(class)
	i.settings[class] = now
	if optedIn = i.optedIn(class); was == optedIn {
		sameDelay := before.delay == now.delay || before.delay != nil && now.delay != nil && *before.delay == *now.delay
		return before.kept != now.kept || !sameDelay, optedIn
	}
	for _, object := range i.others {
		if object.Spec.StorageClassName == class {
			i.setVolume(object)
		}
	}
	for _, known := range i.volumes {
		if known.object.Spec.StorageClassName == class {
			i.setVolume(known.object)
		}
	}
	return true, optedIn
}

// optedIn reports whether the volumes of a class are cleaned up.
func (i *Inventory) optedIn(class string) bool {
	return i.classes.Has(class) || i.settings[class].optedIn
}
