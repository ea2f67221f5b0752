// Package input opens what a user names: files, folders, archives, compressed files and standard
// input, as one sequence of streams.
//
//	for in, err := range input.All([]string{"logs/", "job.tar.gz", "-"}, os.Stdin) {
//		if err != nil {
//			continue // names what couldn't be read; the others follow
//		}
//		io.Copy(dst, in.Reader)
//	}
//
// Forms are detected by content, not by name: gzip, zstd, xz, bzip2, tar and zip, also inside of
// each other; an archive whose end is missing is read as far as it goes. Texts in UTF-16 with a
// byte order mark become UTF-8. Streams are read once and in order, so that archives of any size
// need no memory; only zip archives that aren't files are kept whole, up to [MaxZip] bytes.
package input
