package symptoms

func mooncakeSymptoms() []Symptom {
	return nil
}
