// Renders a chart as `helm template` does, as far as ours goes: Go's text/template with the functions default,
// dict, fromJson, include, list, merge, quote, toJson and trimPrefix. Files whose names begin with _ are only included.
//
//	go run helm_template.go CHART RELEASE_NAMESPACE API_VERSIONS VALUES_JSON
//
// VALUES_JSON are the chart's values, merged already; API_VERSIONS is a list like policy/v1,apps/v1. Prints {"FILE": "TEXT"}.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"text/template"
)

type versions []string

func (v versions) Has(name string) bool {
	for _, version := range v {
		if version == name {
			return true
		}
	}
	return false
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// As sprig's: what `into` has already stays.
func merge(into map[string]interface{}, more ...map[string]interface{}) map[string]interface{} {
	for _, source := range more {
		for key, value := range source {
			mine, known := into[key]
			inner, nested := mine.(map[string]interface{})
			if theirs, ok := value.(map[string]interface{}); ok && (nested || !known) {
				if !nested {
					inner = map[string]interface{}{}
				}
				into[key] = merge(inner, theirs)
			} else if !known {
				into[key] = value
			}
		}
	}
	return into
}

func dict(pairs ...interface{}) map[string]interface{} {
	made := map[string]interface{}{}
	for i := 0; i+1 < len(pairs); i += 2 {
		made[pairs[i].(string)] = pairs[i+1]
	}
	return made
}

func main() {
	chart, namespace := os.Args[1], os.Args[2]
	var input struct{ Values, Chart map[string]interface{} }
	check(json.Unmarshal([]byte(os.Args[4]), &input))
	all := template.New("").Option("missingkey=error")
	functions := template.FuncMap{
		"dict":  dict,
		"list":  func(values ...interface{}) []interface{} { return values },
		"merge": merge,
		"fromJson": func(text string) (map[string]interface{}, error) {
			value := map[string]interface{}{}
			err := json.Unmarshal([]byte(text), &value)
			return value, err
		},
		"include": func(name string, data interface{}) (string, error) {
			var out bytes.Buffer
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"trimPrefix": func(prefix, text string) string { return strings.TrimPrefix(text, prefix) },
		"quote": func(value interface{}) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"toJson": func(value interface{}) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"default": func(other, value interface{}) interface{} {
			if value == nil || reflect.ValueOf(value).IsZero() {
				return other
			}
			return value
		},
	}
	context := map[string]interface{}{
		"Values":       input.Values,
		"Chart":        input.Chart,
		"Release":      map[string]string{"Name": "evenkeel", "Namespace": namespace, "Service": "Helm"},
		"Capabilities": map[string]interface{}{"APIVersions": versions(strings.Split(os.Args[3], ","))},
	}
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	all.Funcs(functions)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		_, err = all.New(filepath.Base(file)).Parse(string(text))
		check(err)
	}
	rendered := map[string]string{}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out bytes.Buffer
		check(all.ExecuteTemplate(&out, name, context))
		rendered[name] = out.String()
	}
	check(json.NewEncoder(os.Stdout).Encode(rendered))
}
