# part_torch_export.sh - operators of torch, a program each: what torch.export writes is opened and
# run, and compared with torch.
. tests/differential/lib.sh
venv torch torch==2.15.0 transformers==5.24.0

"$PYTHON" tests/differential/part_torch_export.py "$DIMSCOPE" "$WORK"
