package plan

import (
	"math/rand/v2"
	"slices"
)

// Retests returns rounds that measure suspects again, each with partners that are known to be good
// and that it has not met: a suspect is accused only if it is bad with them too. The nodes of a
// round are disjoint. Suspects for which no good partner is left are in the second result.
func Retests(suspects, good []int32, met map[Pair]bool, repeats int, seed uint64) (rounds [][]Pair, without []int32) {
	rng := rand.New(rand.NewPCG(seed, 0xbf58476d1ce4e5b9))
	used := map[Pair]bool{}
	for range repeats {
		free := slices.Clone(good)
		rng.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
		waiting := slices.Clone(suspects)
		for len(waiting) > 0 {
			var round []Pair
			var later []int32
			taken := map[int32]bool{}
			for _, s := range waiting {
				i := slices.IndexFunc(free, func(g int32) bool {
					return g != s && !taken[g] && !met[ordered(s, g)] && !used[ordered(s, g)]
				})
				if i < 0 {
					later = append(later, s)
					continue
				}
				taken[free[i]] = true
				used[ordered(s, free[i])] = true
				round = append(round, ordered(s, free[i]))
			}
			if len(round) == 0 {
				for _, s := range later {
					if !slices.Contains(without, s) {
						without = append(without, s)
					}
				}
				break
			}
			rounds = append(rounds, round)
			waiting = later
		}
	}
	slices.Sort(without)
	return rounds, without
}
