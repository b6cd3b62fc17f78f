// Renders a chart as `helm template` does, as far as ours goes: Go's text/template with the functions default, quote and toJson.
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

func main() {
	chart, namespace := os.Args[1], os.Args[2]
	var input struct{ Values, Chart map[string]interface{} }
	check(json.Unmarshal([]byte(os.Args[4]), &input))
	functions := template.FuncMap{
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
		"Release":      map[string]string{"Name": "evenkeel", "Namespace": namespace},
		"Capabilities": map[string]interface{}{"APIVersions": versions(strings.Split(os.Args[3], ","))},
	}
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	rendered := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		parsed, err := template.New(filepath.Base(file)).Option("missingkey=error").Funcs(functions).Parse(string(text))
		check(err)
		var out bytes.Buffer
		check(parsed.Execute(&out, context))
		rendered[filepath.Base(file)] = out.String()
	}
	check(json.NewEncoder(os.Stdout).Encode(rendered))
}
