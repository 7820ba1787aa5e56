// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// Differences compares the fields that the wanted body sets with what the server shows. A field that is null, false,
// 0 or empty is as good as one that is absent.
func (b *Backend) Differences(want backend.Resource, have backend.Observed) []string {
	wanted, ok := decode(want.Body).(map[string]any)
	if !ok {
		return []string{"body"}
	}
	shown, ok := decode(have.Body).(map[string]any)
	if !ok {
		return []string{"body"}
	}
	var names []string
	for name, value := range wanted {
		if !isServers(want.Kind, name) && !same(value, shown[name]) {
			names = append(names, name)
		}
	}
	if have.Parent != "" && have.Parent != want.Parent {
		names = append(names, "parent")
	}
	slices.Sort(names)
	return names
}

// isServers reports whether the server sets a field of a kind automatically, whatever the body has there.
func isServers(kind, name string) bool {
	switch kind {
	case "Port":
		return slices.Contains([]string{"deviceId", "hostId", "interfaceName", "peerId", "tunnelKey", "active"}, name)
	case "PortLink":
		return name == "portId"
	case "Route":
		return name == "routerId"
	case "Rule":
		return name == "position" || name == "chainId"
	case "MACPort":
		return name == "bridgeId"
	case "TunnelZoneHost":
		return name == "tunnelZoneId"
	default:
		return false
	}
}

// decode reads a JSON value, numbers as written; nil when it is none.
func decode(data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil
	}
	if _, err := d.Token(); err != io.EOF {
		return nil
	}
	return value
}

// same reports whether the server has the wanted value. Of an object only the wanted fields count.
func same(want, have any) bool {
	if want == nil || isZero(want) && (have == nil || isZero(have)) {
		return true
	}
	switch want := want.(type) {
	case string:
		have, ok := have.(string)
		return ok && sameText(want, have)
	case json.Number:
		have, ok := have.(json.Number)
		return ok && sameNumber(want, have)
	case []any:
		have, ok := have.([]any)
		return ok && slices.EqualFunc(want, have, same)
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range want {
			if !same(value, have[name]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(want, have)
	}
}

// isZero reports whether a value reports nothing.
func isZero(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case string:
		return value == ""
	case json.Number:
		return sameNumber(value, "0")
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	default:
		return false
	}
}

// sameText compares texts, and what can be written in several ways by its meaning: ids, MAC addresses and networks.
func sameText(a, b string) bool {
	if a == b {
		return true
	}
	if idA, err := uuid.Parse(a); err == nil {
		idB, err := uuid.Parse(b)
		return err == nil && idA == idB
	}
	if macA, err := net.ParseMAC(a); err == nil {
		macB, err := net.ParseMAC(b)
		return err == nil && bytes.Equal(macA, macB)
	}
	if prefixA, err := netip.ParsePrefix(a); err == nil && strings.Contains(b, "/") {
		prefixB, err := netip.ParsePrefix(b)
		return err == nil && prefixA == prefixB
	}
	return false
}

// sameNumber compares whole numbers exactly, and others as well as a float can.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	intA, errA := a.Int64()
	intB, errB := b.Int64()
	if errA == nil && errB == nil {
		return intA == intB
	}
	floatA, errA := a.Float64()
	floatB, errB := b.Float64()
	return errA == nil && errB == nil && floatA == floatB
}
