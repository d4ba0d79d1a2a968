"""The main job on real documents: read, clean, vectorise beside summarise, index, wait for `publish`, publish. Run demo.py."""
